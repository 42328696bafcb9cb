// The floor of `weft bench ddm`: strip-and-sweep matching of boxes, as one would write it in C++.
//
//   floor_match FILE DIMENSIONS UPDATES SUBSCRIPTIONS THREADS
//
// FILE holds int64, all lower bounds of the updates dimension by dimension, then their upper bounds, then the same of the
// subscriptions; bounds are half-open.  Prints "SECONDS CPU_SECONDS PAIRS CHECKSUM"; reading the file is not timed, writing all pairs
// to memory is.
//
// All dimensions but the first are cut into strips about as wide as a box; a box stands in every cell (one strip of each
// of those dimensions) that it touches.  In a cell both lists, sorted by their first lower bound, are swept by forward
// scan.  A pair is reported in the one cell that holds the lower corner of its intersection.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

struct Side {
    std::size_t count;
    std::vector<std::vector<int64_t>> lower, upper;
};

template <int D> struct Box {
    int64_t lower[D], upper[D];
    uint32_t id;
};

// Boxes cell after cell, sorted by first lower bound within each; cell c is starts[c] .. starts[c + 1].
template <int D> struct Cells {
    std::vector<Box<D>> boxes;
    std::vector<uint32_t> starts;
};

struct Grid {
    std::vector<int64_t> base, width, strips;
    std::size_t cells = 1;
};

static Grid make_grid(int dimensions, const Side &updates, const Side &subscriptions) {
    Grid grid;
    for (int d = 1; d < dimensions; d++) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        double total = 0;
        for (const Side *side : {&updates, &subscriptions})
            for (std::size_t i = 0; i < side->count; i++) {
                low = std::min(low, side->lower[d][i]);
                high = std::max(high, side->upper[d][i]);
                total += side->upper[d][i] - side->lower[d][i];
            }
        double mean = total / (updates.count + subscriptions.count);
        double most = std::pow(1 << 20, 1.0 / (dimensions - 1));
        int64_t width = std::max<int64_t>({1, int64_t(mean * 1.5), int64_t((high - low) / most)});
        grid.base.push_back(low);
        grid.width.push_back(width);
        grid.strips.push_back((high - 1 - low) / width + 1);
        grid.cells *= grid.strips.back();
    }
    return grid;
}

template <int D, class Visit>
static void each_cell(const Grid &grid, const Side &side, std::size_t i, Visit visit, int d = 1, std::size_t cell = 0) {
    if (d == D) {
        visit(cell);
        return;
    }
    int64_t first = (side.lower[d][i] - grid.base[d - 1]) / grid.width[d - 1];
    int64_t last = (side.upper[d][i] - 1 - grid.base[d - 1]) / grid.width[d - 1];
    for (int64_t strip = first; strip <= last; strip++)
        each_cell<D>(grid, side, i, visit, d + 1, cell * grid.strips[d - 1] + strip);
}

template <int D> static Cells<D> fill(const Grid &grid, const Side &side) {
    std::vector<std::pair<int64_t, uint32_t>> order(side.count);
    for (std::size_t i = 0; i < side.count; i++) order[i] = {side.lower[0][i], uint32_t(i)};
    std::sort(order.begin(), order.end());
    Cells<D> cells;
    cells.starts.assign(grid.cells + 1, 0);
    for (std::size_t i = 0; i < side.count; i++)
        each_cell<D>(grid, side, i, [&](std::size_t cell) { cells.starts[cell + 1]++; });
    std::partial_sum(cells.starts.begin(), cells.starts.end(), cells.starts.begin());
    cells.boxes.resize(cells.starts.back());
    std::vector<uint32_t> next(cells.starts.begin(), cells.starts.end() - 1);
    for (const auto &[lower, i] : order) {
        Box<D> box;
        for (int d = 0; d < D; d++) {
            box.lower[d] = side.lower[d][i];
            box.upper[d] = side.upper[d][i];
        }
        box.id = i;
        each_cell<D>(grid, side, i, [&](std::size_t cell) { cells.boxes[next[cell]++] = box; });
    }
    return cells;
}

template <int D> static bool here(const Box<D> &one, const Box<D> &other, const int64_t *corner) {
    for (int d = 1; d < D; d++) {
        int64_t lower = std::max(one.lower[d], other.lower[d]);
        if (lower >= std::min(one.upper[d], other.upper[d]) || lower < corner[d - 1]) return false;
    }
    return true;
}

template <int D> static void sweep(const Grid &grid, const Cells<D> &updates, const Cells<D> &subscriptions,
                                   std::size_t first, std::size_t last, Pairs &found) {
    for (std::size_t cell = first; cell < last; cell++) {
        int64_t corner[D];
        std::size_t rest = cell;
        for (int d = D - 1; d >= 1; d--) {
            corner[d - 1] = grid.base[d - 1] + int64_t(rest % grid.strips[d - 1]) * grid.width[d - 1];
            rest /= grid.strips[d - 1];
        }
        const Box<D> *u = updates.boxes.data() + updates.starts[cell];
        const Box<D> *u_end = updates.boxes.data() + updates.starts[cell + 1];
        const Box<D> *s = subscriptions.boxes.data() + subscriptions.starts[cell];
        const Box<D> *s_end = subscriptions.boxes.data() + subscriptions.starts[cell + 1];
        while (u != u_end && s != s_end) {
            if (u->lower[0] <= s->lower[0]) {
                for (const Box<D> *b = s; b != s_end && b->lower[0] < u->upper[0]; b++)
                    if (here<D>(*u, *b, corner)) found.emplace_back(u->id, b->id);
                u++;
            } else {
                for (const Box<D> *a = u; a != u_end && a->lower[0] < s->upper[0]; a++)
                    if (here<D>(*a, *s, corner)) found.emplace_back(a->id, s->id);
                s++;
            }
        }
    }
}

template <int D> static void run(const Side &updates, const Side &subscriptions, int threads) {
    auto begun = std::chrono::steady_clock::now();
    std::clock_t worked = std::clock();
    Grid grid = make_grid(D, updates, subscriptions);
    Cells<D> u, s;
    std::thread other([&] { u = fill<D>(grid, updates); });
    if (threads == 1) other.join();
    s = fill<D>(grid, subscriptions);
    if (threads > 1) other.join();
    std::vector<Pairs> found(threads);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; t++)
        workers.emplace_back([&, t] { sweep<D>(grid, u, s, grid.cells * t / threads, grid.cells * (t + 1) / threads, found[t]); });
    for (auto &worker : workers) worker.join();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    double cpu = double(std::clock() - worked) / CLOCKS_PER_SEC;
    std::size_t pairs = 0;
    uint64_t checksum = 0;
    for (const Pairs &part : found) {
        pairs += part.size();
        for (const auto &[a, b] : part) checksum += (uint64_t(a) + 1) * (2 * uint64_t(b) + 1);
    }
    std::printf("%.6f %.6f %zu %llu\n", seconds, cpu, pairs, (unsigned long long)checksum);
}

static Side read_side(std::FILE *file, int dimensions, std::size_t count) {
    Side side{count, {}, {}};
    for (auto *bounds : {&side.lower, &side.upper})
        for (int d = 0; d < dimensions; d++) {
            bounds->emplace_back(count);
            if (std::fread(bounds->back().data(), 8, count, file) != count) std::exit(1);
        }
    return side;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    int dimensions = std::atoi(argv[2]), threads = std::atoi(argv[5]);
    std::FILE *file = std::fopen(argv[1], "rb");
    if (file == nullptr || threads < 1) return 2;
    Side updates = read_side(file, dimensions, std::strtoull(argv[3], nullptr, 10));
    Side subscriptions = read_side(file, dimensions, std::strtoull(argv[4], nullptr, 10));
    std::fclose(file);
    switch (dimensions) {
        case 1: run<1>(updates, subscriptions, threads); return 0;
        case 2: run<2>(updates, subscriptions, threads); return 0;
        case 3: run<3>(updates, subscriptions, threads); return 0;
        case 4: run<4>(updates, subscriptions, threads); return 0;
        default: return 2;
    }
}

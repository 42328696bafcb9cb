/* What the network itself costs, in C: the floors of `weft bench fedpro`.
 *
 *   floor relay PORT            pairs connections two by two and passes on what each sends
 *   floor pingpong PORT N SIZE  two ends through the relay; prints a round trip in nanoseconds on each of N lines
 *   floor direct N SIZE         two ends without a relay; prints the same
 *   floor responder PORT        the least that can answer a Federate Protocol client: accepts a session, and answers every
 *                               call with an empty response of the next number (enough for send-interaction)
 *
 * Loopback only.  One process serves at most 64 connections with poll(). */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 64, ROOM = 1 << 20 };

static struct sockaddr_in here(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static void quick(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int bound(int port, int *chosen) {
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = here(port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, LIMIT)) { perror("floor: listen"); exit(1); }
    socklen_t size = sizeof a;
    getsockname(fd, (struct sockaddr *)&a, &size);
    *chosen = ntohs(a.sin_port);
    return fd;
}

static int listening(int port) {
    int chosen, fd = bound(port, &chosen);
    printf("%d\n", chosen);
    fflush(stdout);
    return fd;
}

static int connected(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = here(port);
    if (connect(fd, (struct sockaddr *)&a, sizeof a)) { perror("floor: connect"); exit(1); }
    quick(fd);
    return fd;
}

static void put(int fd, const char *data, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n <= 0) return;
        data += n;
        size -= (size_t)n;
    }
}

static void get(int fd, char *data, size_t size) {
    while (size > 0) {
        ssize_t n = read(fd, data, size);
        if (n <= 0) exit(0);
        data += n;
        size -= (size_t)n;
    }
}

static void relay(int port) {
    static char room[ROOM];
    struct pollfd p[LIMIT + 1];
    int n = 1;
    p[0] = (struct pollfd){.fd = listening(port), .events = POLLIN};
    for (;;) {
        poll(p, (nfds_t)n, -1);
        for (int i = 1; i < n; i++)
            if (p[i].revents) {
                int other = ((i - 1) ^ 1) + 1;
                ssize_t got = read(p[i].fd, room, ROOM);
                if (got <= 0) exit(0);
                if (other < n) put(p[other].fd, room, (size_t)got);
            }
        if (p[0].revents && n <= LIMIT) {
            p[n] = (struct pollfd){.fd = accept(p[0].fd, 0, 0)};
            quick(p[n++].fd);
            if (n % 2) p[n - 1].events = p[n - 2].events = POLLIN; /* a pair: nothing is read before there is one */
        }
    }
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void bounce(int near, int far, int turns, size_t size) {
    static char room[ROOM];
    if (fork() == 0) {
        close(near);
        for (;;) { get(far, room, size); put(far, room, size); }
    }
    close(far);
    for (int i = -turns / 10; i < turns; i++) {
        int64_t before = now();
        put(near, room, size);
        get(near, room, size);
        if (i >= 0) printf("%lld\n", (long long)(now() - before));
    }
}

static void pingpong(int port, int turns, size_t size) {
    int near = connected(port);
    bounce(near, connected(port), turns, size);
}

static void direct(int turns, size_t size) {
    int port, fd = bound(0, &port), near = connected(port), far = accept(fd, 0, 0);
    quick(far);
    bounce(near, far, turns, size);
}

static uint32_t u32(const unsigned char *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }
static void w32(unsigned char *p, uint32_t v) { p[0] = v >> 24; p[1] = v >> 16; p[2] = v >> 8; p[3] = v; }

struct client { unsigned char in[ROOM]; size_t have; uint32_t number; };

/* Answers the frames in c->in; returns how many bytes of out are to be sent. */
static size_t answer(struct client *c, unsigned char *out) {
    size_t at = 0, made = 0;
    while (c->have - at >= 24) {
        unsigned char *f = c->in + at, *o = out + made;
        uint32_t size = u32(f), type = u32(f + 20);
        if (size < 24 || size > ROOM || c->have - at < size) break;
        memcpy(o, f, 24);
        memcpy(o + 16, f + 4, 4);
        if (type == 1) { /* NEW_SESSION: session id 7 */
            w32(o, 28); w32(o + 4, 0); w32(o + 8, 0); w32(o + 12, 7); w32(o + 16, 0x80000000u); w32(o + 20, 2);
            w32(o + 24, 0);
            made += 28;
        } else if (type == 20) { /* a call: the response member has the next number, and is empty */
            uint32_t key = 0, shift = 0;
            size_t i = 24;
            do { key |= (uint32_t)(f[i] & 0x7f) << shift; shift += 7; } while (f[i++] & 0x80);
            key += 8;
            size_t p = 28;
            while (key >= 0x80) { o[p++] = (unsigned char)(key | 0x80); key >>= 7; }
            o[p++] = (unsigned char)key;
            o[p++] = 0;
            w32(o, (uint32_t)p); w32(o + 4, ++c->number); w32(o + 20, 21);
            memcpy(o + 24, f + 4, 4);
            made += p;
        } else if (type == 5) { /* TERMINATE */
            w32(o, 24); w32(o + 4, ++c->number); w32(o + 20, 6);
            made += 24;
        } else if (type == 3) { /* HEARTBEAT */
            w32(o, 28); w32(o + 4, ++c->number); w32(o + 20, 4);
            memcpy(o + 24, f + 4, 4);
            made += 28;
        }
        at += size;
    }
    memmove(c->in, c->in + at, c->have - at);
    c->have -= at;
    return made;
}

static void responder(int port) {
    static unsigned char out[4 * ROOM];
    static struct client clients[LIMIT];
    struct pollfd p[LIMIT + 1];
    int n = 1;
    p[0] = (struct pollfd){.fd = listening(port), .events = POLLIN};
    for (;;) {
        poll(p, (nfds_t)n, -1);
        for (int i = 1; i < n; i++)
            if (p[i].revents) {
                struct client *c = &clients[i - 1];
                ssize_t got = read(p[i].fd, c->in + c->have, ROOM - c->have);
                if (got <= 0) { close(p[i].fd); p[i].fd = -1; p[i].events = 0; continue; }
                c->have += (size_t)got;
                put(p[i].fd, (char *)out, answer(c, out));
            }
        if (p[0].revents && n <= LIMIT) {
            p[n] = (struct pollfd){.fd = accept(p[0].fd, 0, 0), .events = POLLIN};
            quick(p[n++].fd);
        }
    }
}

int main(int count, char **word) {
    if (count == 3 && !strcmp(word[1], "relay")) relay(atoi(word[2]));
    else if (count == 3 && !strcmp(word[1], "responder")) responder(atoi(word[2]));
    else if (count == 5 && !strcmp(word[1], "pingpong")) pingpong(atoi(word[2]), atoi(word[3]), (size_t)atoi(word[4]));
    else if (count == 4 && !strcmp(word[1], "direct")) direct(atoi(word[2]), (size_t)atoi(word[3]));
    else { fprintf(stderr, "floor: see the head of floor.c\n"); return 2; }
    return 0;
}

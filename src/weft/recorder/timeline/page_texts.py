"""The style and the script of the page (see `page`).

The script knows elements of class `t` by their places, as fractions of the axis: data-a, and data-b where they have a length.
"""

from __future__ import annotations

from typing import Final

STYLE: Final = """
*{box-sizing:border-box}
body{margin:20px auto;padding:0 24px;max-width:1880px;background:var(--back);color:var(--text);
 font:14px/1.45 system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:22px;margin:0 0 2px;overflow-wrap:anywhere}
h2{font-size:16px;margin:22px 0 6px}
.sub{margin:0 0 8px;color:var(--muted)}
.sub.bad::after{content:" ✕";color:var(--miss);font-weight:700}
.bar{display:flex;flex-wrap:wrap;align-items:baseline;gap:4px 14px}
.hint{color:var(--muted);font-size:13px}
button{font:inherit;min-width:32px;padding:1px 9px;margin-right:4px;color:var(--text);background:var(--stripe);
 border:1px solid var(--frame);border-radius:5px;cursor:pointer}
button:hover{border-color:var(--text)}
svg{display:block;font-size:13px}
svg text{fill:var(--text)}
.wide{max-width:100%;height:auto;border:1px solid var(--grid);border-radius:6px}
#chart{cursor:grab;touch-action:pan-y;user-select:none;-webkit-user-select:none}
#chart:focus-visible{outline:2px solid var(--p0)}
.stripe{fill:var(--stripe)}
.name{font-weight:600}
.note,.tick text,.axis{fill:var(--muted);font-size:12px}
.axis.title,.tick text{text-anchor:middle}
.tick line{stroke:var(--grid)}
.p0{fill:var(--p0);stroke:var(--p0)}.p1{fill:var(--p1);stroke:var(--p1)}.p2{fill:var(--p2);stroke:var(--p2)}
.p3{fill:var(--p3);stroke:var(--p3)}.p4{fill:var(--p4);stroke:var(--p4)}.p5{fill:var(--p5);stroke:var(--p5)}
rect{stroke:none}
.wait{fill:var(--wait)}
.open{fill-opacity:.18;stroke-width:1.5;stroke-dasharray:4 3}
rect.open.p0{stroke:var(--p0)}rect.open.p1{stroke:var(--p1)}rect.open.p2{stroke:var(--p2)}
rect.open.p3{stroke:var(--p3)}rect.open.p4{stroke:var(--p4)}rect.open.p5{stroke:var(--p5)}
.late{fill:var(--miss)}
.deadline line{stroke:var(--deadline);stroke-width:1.5}
.overdue line{stroke:var(--miss);stroke-width:1.5;stroke-dasharray:3 2}
.push{stroke:none}
.miss path,.miss line{stroke:var(--miss);stroke-width:2.6;fill:none}
.miss .halo{stroke:var(--back);stroke-width:6;stroke-opacity:.85}
.miss circle{fill:var(--miss);stroke:var(--back)}
.miss text{fill:var(--miss);font-weight:700;font-size:12px;paint-order:stroke;stroke:var(--back);stroke-width:3px}
.overrun path{fill:none;stroke:var(--overrun);stroke-width:2}
.drop circle{fill:none;stroke:var(--overrun);stroke-width:2}
.under{fill:var(--missback)}
.zero line{stroke:var(--text);stroke-width:1.5}
.end line{stroke-width:2}
.end circle{stroke:var(--back);stroke-width:1.5}
.legend{display:flex;flex-wrap:wrap;gap:0 14px;margin:4px 0;align-items:center;font-size:13px}
.legend span{display:inline-flex;align-items:center;gap:6px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:3px 9px;border-bottom:1px solid var(--grid);text-align:left;white-space:nowrap}
th{color:var(--muted);font-weight:600;white-space:normal;vertical-align:bottom}
td:first-child{max-width:240px;overflow:hidden;text-overflow:ellipsis}
.n{text-align:right}
.bad{color:var(--miss);font-weight:700}
.sub.bad{color:var(--text);font-weight:400}
#tip{position:fixed;z-index:2;max-width:420px;padding:6px 9px;background:var(--text);color:var(--back);border-radius:5px;
 font-size:13px;pointer-events:none;overflow-wrap:anywhere}
ul{padding-left:20px;color:var(--muted)}
@media print{.tools,.hint{display:none}}
"""

SCRIPT: Final = r"""
'use strict';
(function () {
  var chart = document.getElementById('chart');
  var zoom = 1, from = 0;                       // what is seen: from, from + 1 / zoom
  var most = 1e6;

  function plot(svg) {
    var left = +svg.dataset.left, right = +svg.dataset.right;
    return {left: left, width: svg.width.baseVal.value - left - right};
  }
  function place(svg, seenFrom, seenZoom) {
    var p = plot(svg);
    svg.querySelectorAll('.t').forEach(function (one) {
      var a = p.left + (one.dataset.a - seenFrom) * seenZoom * p.width;
      if (one.tagName === 'rect') {
        var b = p.left + (one.dataset.b - seenFrom) * seenZoom * p.width;
        a = Math.max(a, -1e4); b = Math.min(b, 2e4);
        one.setAttribute('x', a); one.setAttribute('width', b < a ? 0 : Math.max(1, b - a));
      } else {
        one.setAttribute('transform', 'translate(' + a + ' ' + one.dataset.y + ')');
      }
    });
  }
  function step(rough) {
    var power = Math.pow(10, Math.floor(Math.log10(rough)));
    return [1, 2, 5, 10].map(function (f) { return f * power; }).find(function (s) { return s >= rough; });
  }
  function element(name, attributes, parent) {
    var made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (var key in attributes) { made.setAttribute(key, attributes[key]); }
    parent.appendChild(made);
    return made;
  }
  function axis() {
    var p = plot(chart), group = document.getElementById('axis'), height = +chart.dataset.height;
    var begin = +chart.dataset.begin + from * chart.dataset.length, length = chart.dataset.length / zoom;
    if (!(length > 0)) { return; }
    var size = step(length / Math.max(4, p.width / 80)), digits = Math.max(0, -Math.floor(Math.log10(size) + 1e-9));
    group.replaceChildren();
    for (var n = Math.ceil(begin / size - 1e-9); n * size <= begin + length * (1 + 1e-9); n++) {
      var x = p.left + (n * size - begin) / length * p.width;
      var tick = element('g', {'class': 'tick', transform: 'translate(' + x + ' 0)'}, group);
      element('line', {y2: height + 5}, tick);
      element('text', {y: height + 19}, tick).textContent = (n * size).toFixed(Math.min(9, digits)).replace('-', '\u2212');
    }
  }
  function labels() {                            // of misses: only those that have room
    var ends = {};
    chart.querySelectorAll('.miss').forEach(function (one) {
      var text = one.querySelector('text');
      if (!text) { return; }
      var match = /translate\((\S+)/.exec(one.getAttribute('transform')), x = +match[1], lane = one.dataset.y;
      var free = !(lane in ends) || x - 2 >= ends[lane];
      text.style.display = free ? '' : 'none';
      if (free) { ends[lane] = x + 6 + text.textContent.length * 7; }
    });
  }
  function draw() {
    zoom = Math.min(most, Math.max(1, zoom));
    from = Math.min(1 - 1 / zoom, Math.max(0, from));
    place(chart, from, zoom); axis(); labels();
  }
  var asked = false;
  function soon() {
    if (!asked) { asked = true; requestAnimationFrame(function () { asked = false; draw(); }); }
  }
  function fit() {
    document.querySelectorAll('svg.wide').forEach(function (svg) {
      var width = Math.max(640, svg.parentElement.clientWidth - parseFloat(getComputedStyle(svg.parentElement).paddingLeft) * 2);
      var height = svg.height.baseVal.value, p;
      svg.setAttribute('width', width); svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
      svg.querySelectorAll('.stripe').forEach(function (one) { one.setAttribute('width', width); });
      p = plot(svg);
      svg.querySelectorAll('.plot').forEach(function (one) { one.setAttribute('width', p.width + +svg.dataset.right + 8); });
      svg.querySelectorAll('.axis.title').forEach(function (one) { one.setAttribute('x', p.left + p.width / 2); });
      if (svg !== chart) { place(svg, 0, 1); }
    });
    draw();
  }
  function zoomAt(factor, fraction) {            // the place under the pointer stays where it is
    var there = from + fraction / zoom;
    zoom = Math.min(most, Math.max(1, zoom * factor));
    from = there - fraction / zoom;
    soon();
  }
  function fraction(event) {
    var p = plot(chart), box = chart.getBoundingClientRect();
    return Math.min(1, Math.max(0, ((event.clientX - box.left) / box.width * chart.width.baseVal.value - p.left) / p.width));
  }

  document.querySelectorAll('svg.wide g.t').forEach(function (one) {
    one.dataset.y = /translate\(\S+ (\S+)\)/.exec(one.getAttribute('transform'))[1];
  });
  document.querySelectorAll('button[data-do]').forEach(function (button) {
    button.addEventListener('click', function () {
      if (button.dataset.do === 'all') { zoom = 1; from = 0; soon(); } else { zoomAt(button.dataset.do === 'in' ? 2 : 0.5, 0.5); }
    });
  });
  chart.addEventListener('wheel', function (event) {
    if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoomAt(Math.exp(-event.deltaY / 300), fraction(event)); }
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault(); from += (event.deltaX || event.deltaY) / 1000 / zoom; soon();
    }
  }, {passive: false});
  chart.addEventListener('dblclick', function (event) { zoomAt(2, fraction(event)); });
  chart.addEventListener('keydown', function (event) {
    var move = {ArrowLeft: -0.2, ArrowRight: 0.2}[event.key];
    if (move) { from += move / zoom; soon(); }
    else if (event.key === '+' || event.key === '=') { zoomAt(2, 0.5); }
    else if (event.key === '-') { zoomAt(0.5, 0.5); }
    else if (event.key === '0') { zoom = 1; from = 0; soon(); }
    else { return; }
    event.preventDefault();
  });
  var held = null;
  chart.addEventListener('pointerdown', function (event) { held = {x: event.clientX, from: from}; });
  window.addEventListener('pointermove', function (event) {
    if (held && event.buttons) { from = held.from - (event.clientX - held.x) / plot(chart).width / zoom; soon(); }
  });
  window.addEventListener('pointerup', function () { held = null; });
  window.addEventListener('resize', fit);
  fit();
})();
"""

TIPS: Final = r"""
'use strict';
var weft = {};                                   // for other scripts of the page
(function () {
  var tip = document.getElementById('tip');
  weft.tell = function (text, x, y) {            // beside a place in the window; nothing: hide it
    tip.hidden = !text;
    if (!text) { return; }
    tip.textContent = text;
    tip.style.left = Math.max(4, Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8)) + 'px';
    var below = y + 18, fits = below + tip.offsetHeight < window.innerHeight;
    tip.style.top = (fits ? below : y - tip.offsetHeight - 10) + 'px';
  };
  document.querySelectorAll('svg title').forEach(function (one) {   // shown at once, and not a second time by the browser
    one.parentNode.dataset.tip = one.textContent;
    one.remove();
  });
  document.addEventListener('mousemove', function (event) {
    var found = event.target.closest ? event.target.closest('[data-tip]') : null;
    weft.tell(found ? found.dataset.tip : '', event.clientX, event.clientY);
  });
})();
"""

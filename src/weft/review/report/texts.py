"""The style and the script of the report; colours and the rest of the style are those of the time line."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
html{scroll-padding-top:52px}
body{max-width:1280px}
a{color:var(--p0)}
a:focus-visible,summary:focus-visible,.st:focus-visible,section:focus-visible{outline:2px solid var(--p0);outline-offset:2px}
nav{position:sticky;top:0;z-index:1;margin:8px -24px 14px;padding:8px 24px;background:var(--back);
 border-bottom:1px solid var(--grid);display:flex;flex-wrap:wrap;gap:4px 18px}
h2{font-size:20px;margin:34px 0 8px;padding-top:4px}
h3{font-size:16px;margin:22px 0 6px}
.note-list{margin:10px 0;padding:10px 14px 10px 32px;background:var(--missback);color:var(--text);
 border-left:4px solid var(--overrun);border-radius:4px}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:8px 0;overflow-wrap:anywhere}
.facts dt{color:var(--muted)}.facts dd{margin:0}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:10px;margin:14px 0;padding:0;list-style:none}
.cards a{display:block;height:100%;padding:10px 14px;border:1px solid var(--grid);border-left:5px solid var(--p2);
 border-radius:6px; background:var(--stripe);color:var(--text);text-decoration:none}
.cards a:hover{border-color:var(--frame)}
.cards .wrong{border-left-color:var(--miss)}.cards .unsure{border-left-color:var(--overrun)}
.cards b{display:block;font-size:15px}.cards .verdict{font-weight:600;color:var(--p2)}
.cards .wrong .verdict{color:var(--miss)}.cards .unsure .verdict{color:var(--overrun)}
.cards small{display:block;color:var(--muted)}
table.found td{white-space:normal;max-width:none}
table.found td:first-child{white-space:nowrap}
details.witness{margin:8px 0;border:1px solid var(--grid);border-radius:6px;background:var(--back);scroll-margin-top:56px}
details.witness>summary{padding:8px 12px;cursor:pointer;overflow-wrap:anywhere}
details.witness[open]>summary{border-bottom:1px solid var(--grid);background:var(--stripe)}
details.witness.here{border-color:var(--p0);box-shadow:0 0 0 1px var(--p0)}
.inside{padding:4px 12px 10px}
.st{font-size:13px}
.st .process line{stroke:var(--frame);stroke-width:1.5}.st .process .end{fill:var(--frame)}
.st line.when{stroke:var(--grid);stroke-dasharray:2 4}
.st text.when{text-anchor:middle;fill:var(--muted);font-size:11.5px;font-variant-numeric:tabular-nums}
.msg .line{fill:none;stroke-width:1.4;stroke:var(--wait)}.msg .head{fill:var(--wait);stroke:none}
.msg .hit{fill:none;stroke:transparent;stroke-width:14}
.msg text,.pt .say{font-weight:600;paint-order:stroke;stroke:var(--back);stroke-width:4px;stroke-linejoin:round}
.pt .say{text-anchor:middle}
.msg.late .line{stroke:var(--miss);stroke-width:2.6}.msg.late .head{fill:var(--miss)}.msg.late text{fill:var(--miss)}
.msg.after .line{stroke:var(--p1);stroke-width:2.6}.msg.after .head{fill:var(--p1)}.msg.after text{fill:var(--p1)}
.msg.way .line{stroke:var(--p0);stroke-width:2}.msg.way .head{fill:var(--p0)}.msg.way text{fill:var(--p0)}
.msg.broken .line{stroke-dasharray:6 4}.msg .cross{stroke:var(--miss);stroke-width:3;fill:none}
.pt circle,.pt rect,.pt path{fill:var(--back);stroke:var(--wait);stroke-width:1.6}
.pt.late circle,.pt.late rect,.pt.late path{stroke:var(--miss);stroke-width:2.6}
.pt.after circle,.pt.after rect,.pt.after path{stroke:var(--p1);stroke-width:2.6}
.pt.way circle,.pt.way rect,.pt.way path{stroke:var(--p0);stroke-width:2.2}
.pt .gone{stroke-dasharray:3 3}
.pt .number{text-anchor:middle;font-size:11px;font-weight:700}
.pt.late .say,.pt.late .number{fill:var(--miss)}.pt.after .say,.pt.after .number{fill:var(--p1)}.pt.way .say{fill:var(--p0)}
.pt.other .number{fill:var(--muted)}
.stretch.late rect{fill:var(--miss)}.stretch.way rect{fill:var(--p0);fill-opacity:.55}
.st .on circle,.st .on rect,.st .on path.line,.st .on>path{stroke-width:4}
.key{display:inline-flex;align-items:center;gap:6px}
.key i{display:inline-block;width:22px;height:0;border-top:3px solid var(--wait)}
.key.late i{border-color:var(--miss)}.key.after i{border-color:var(--p1)}
.key.way i{border-color:var(--p0)}.key.got i{border-color:var(--p4)}
ol.words{color:var(--text);padding-left:26px;overflow-wrap:anywhere}
table.bars{width:100%}
table.bars td{vertical-align:middle}
table.bars td.cell{width:34%;min-width:110px}
table.bars td:first-child{white-space:normal;overflow-wrap:anywhere;min-width:120px}
.track{display:flex;height:14px;background:var(--stripe);border-radius:3px;overflow:hidden}
.track+.track{margin-top:2px}
.track span{display:block;height:100%}
.track .a{background:var(--p0)}.track .b{background:var(--p4)}.track .c{background:var(--miss)}
.chosen td{font-weight:700}
.advice{margin:12px 0;padding:8px 14px;border:1px solid var(--grid);border-radius:6px;background:var(--stripe)}
.advice h3{margin-top:4px}.gain{font-weight:700;color:var(--p2)}
footer{margin:40px 0 20px;padding-top:10px;border-top:1px solid var(--grid);color:var(--muted)}
@media(max-width:640px){body{padding:0 12px;margin-top:10px}nav{margin:6px -12px 10px;padding:6px 12px;gap:2px 14px}
 .facts{grid-template-columns:1fr}.facts dd{margin-bottom:4px}h1{font-size:19px}h2{font-size:18px}}
@media print{nav{display:none}details.witness>.inside{display:block}}
"""

SCRIPT: Final = r"""
'use strict';
(function () {
  function show(hash) {                          // a violation was chosen: open its diagram and go there
    var target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    document.querySelectorAll('.here').forEach(function (one) { one.classList.remove('here'); });
    if (!target || !target.matches('details.witness')) { return; }
    target.open = true;
    target.classList.add('here');
    target.scrollIntoView({block: 'start'});
    var picture = target.querySelector('.st');
    if (picture) { picture.focus({preventScroll: true}); }
  }
  document.addEventListener('click', function (event) {
    var link = event.target.closest ? event.target.closest('a[href^="#"]') : null;
    if (link && link.hash === location.hash) { show(link.hash); }       // once more: no change of the address
  });
  window.addEventListener('hashchange', function () { show(location.hash); });
  document.querySelectorAll('.st').forEach(function (picture) {         // arrow keys go from mark to mark
    var marks = Array.from(picture.querySelectorAll('.pt')), at = -1;
    marks.sort(function (one, other) { return one.dataset.mark - other.dataset.mark; });
    function leave() { marks.forEach(function (one) { one.classList.remove('on'); }); weft.tell(''); }
    picture.addEventListener('keydown', function (event) {
      var step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (event.key === 'Escape') { at = -1; leave(); return; }
      if (event.key === 'Home' || event.key === 'End') { at = event.key === 'Home' ? 0 : marks.length - 1; }
      else if (step) { at = Math.min(marks.length - 1, Math.max(0, at + step)); } else { return; }
      event.preventDefault();
      leave();
      marks[at].classList.add('on');
      marks[at].scrollIntoView({block: 'nearest', inline: 'nearest'});
      var box = marks[at].getBoundingClientRect();
      weft.tell(marks[at].dataset.tip, box.right, box.bottom);
    });
    picture.addEventListener('blur', leave);
  });
  show(location.hash);
})();
"""

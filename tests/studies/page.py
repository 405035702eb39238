#!/usr/bin/env python3
"""Opens the report on all studies in Chromium: on a screen, on a phone, on paper and in the dark.

usage: page.py FOLDER      the folder of tests/studies/run, whose writeup has the report
Exit 77 without Chromium.
"""
import base64
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "share"))
import chromium  # noqa: E402

PHONE, SCREEN = 390, 1280
PAPER = round((21 - 2 * 2) / 2.54 * 96)  # pixels of an A4 page between its margins
failed = 0

# Tables whose content or edge lies outside the page, and the page itself if it scrolls sideways.
WIDE = """(() => {
  const width = document.documentElement.clientWidth, wide = [];
  if (document.documentElement.scrollWidth > width) wide.push('page ' + document.documentElement.scrollWidth);
  for (const table of document.querySelectorAll('table'))
    for (const part of [table, ...table.querySelectorAll('td, th')])
      if (part.getBoundingClientRect().right > width + 0.5 || part.scrollWidth > part.clientWidth + 1)
        wide.push(table.id + ': ' + part.textContent.slice(0, 40));
  return wide;
})()"""
# Of each study the order of its figures, findings, tables and commands.
ORDER = """[...document.querySelectorAll('h2')].map(heading => {
  const kinds = [];
  for (let one = heading.nextElementSibling; one && one.tagName !== 'H2'; one = one.nextElementSibling) kinds.push(one.tagName[0]);
  return [heading.id, kinds.join('')];
})"""


def check(holds, text, more=""):
    global failed
    print(f"{'passed' if holds else 'FAILED'}: {text}{'' if holds or more == '' else ': ' + str(more)}", flush=True)
    failed += not holds


def show(browser, page):
    browser.call("Page.navigate", url=page.resolve().as_uri())
    browser.wait("document.readyState === 'complete'")
    browser.frame()


def on_screen(page):
    with chromium.Browser(SCREEN, 900) as browser:
        show(browser, page)
        check(not browser.errors, "the page has no errors", browser.errors)
        check(not browser.evaluate(WIDE), f"no table is wider than {SCREEN} pixels", browser.evaluate(WIDE)[:3])
        studies = [(name, kinds) for name, kinds in browser.evaluate(ORDER) if name not in ("summary", "method", "commands")]
        # F figure, U findings, P caption of a table, T table, D notes or commands; in front of them the question and cautions.
        wrong = [(name, kinds) for name, kinds in studies if not re.fullmatch(r"P+(F|FU|U)*((PTD*)+)D?(P|S)*", kinds)]
        check(len(studies) > 20 and not wrong, f"each of {len(studies)} studies has figures, then findings, then tables", wrong[:3])
        folded = browser.evaluate("[...document.querySelectorAll('details')].every(one => !one.open)")
        check(folded, "commands are folded")
        browser.evaluate("document.querySelector('th button').click()")
        check(browser.evaluate("document.querySelector('th').getAttribute('aria-sort')") == "ascending", "a table sorts")


def on_a_phone(page):
    with chromium.Browser(PHONE, 800, touch=True) as browser:
        show(browser, page)
        check(not browser.evaluate(WIDE), f"no table is wider than {PHONE} pixels", browser.evaluate(WIDE)[:3])


def on_paper(page, folder):
    with chromium.Browser(PAPER, 900) as browser:
        show(browser, page)
        browser.call("Emulation.setEmulatedMedia", media="print", features=[])
        browser.frame()
        check(not browser.evaluate(WIDE), "no table is wider than A4", browser.evaluate(WIDE)[:3])
        pdf = base64.b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    file = folder / "print.pdf"
    file.write_bytes(pdf)
    pages = [subprocess.run(["pdftotext", "-f", str(n), "-l", str(n), file, "-"], text=True, capture_output=True).stdout for n in (1, 2)]
    check("Summary" in pages[0] and "Machine, versions and method" in pages[1], "the summary fills one page")


def in_the_dark(page):
    with chromium.Browser(SCREEN, 900, dark=True) as browser:
        show(browser, page)
        style = browser.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('img')).filter]")
        check(style[0] != "rgb(255, 255, 255)" and "invert" in style[1], "a dark page has dark figures", style)


if not chromium.program():
    print("skipped: Chromium is not installed")
    sys.exit(77)
writeup = pathlib.Path(sys.argv[1]) / "writeup"
on_screen(writeup / "index.html")
on_a_phone(writeup / "index.html")
on_paper(writeup / "index.html", writeup.parent)
in_the_dark(writeup / "index.html")
sys.exit(failed > 0)

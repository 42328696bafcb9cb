"""The documentation as a site: `make docs`.  Nothing in it comes from elsewhere, when it is built or when it is read."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import weft

project = "Weft"
version = release = weft.__version__
html_title = f"Weft {weft.__version__}"
html_theme = "furo"
html_logo = "weft-mark.svg"
html_favicon = "weft-mark.svg"
html_copy_source = False
html_show_search_summary = False  # a page on the disk may not read others, so the search lists titles
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["weft.css"]
# Furo's own, without the names of fonts that would have to be fetched.
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5d7a", "color-brand-content": "#0b6e8f"},
    "dark_css_variables": {"color-brand-primary": "#6cc3e0", "color-brand-content": "#7fd0ea"},
}

extensions = ["myst_parser", "weft_pages"]
exclude_patterns = ["_ext", "_static"]
myst_heading_anchors = 4  # the same names as GitHub's, so that links hold in both
highlight_language = "none"

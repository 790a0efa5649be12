"""Figures (SVG, HTML, PNG) and HTML reports: static, escaped, without script."""

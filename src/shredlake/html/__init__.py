"""HTML pages: each is one self-contained file, made of plain values.

markup    elements whose text is always escaped
page      the document: style, script, theme, sections
treemap   areas in proportion to sizes, nested
tree      a sortable, searchable tree of rows
plot      steps, stacked steps and ranges, as SVG
table     facts, tables, commands to copy

This package knows nothing of tables and files; its callers describe their facts in these terms.
"""

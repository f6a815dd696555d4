//! Charts: plain data to inline SVG, each with a title, a description and a table behind it.

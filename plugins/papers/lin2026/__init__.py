"""The tables and the published numbers of Lin, Slavković and Bhoomireddy 2026."""

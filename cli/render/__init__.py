"""Decisions and knowledge as text: sections build blocks, writers turn blocks into plain text or Markdown."""

"""The laws that an answer should keep, counted from outside: nothing here reads how the chooser works."""

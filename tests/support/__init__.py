"""What tests of several rungs use: stand-ins, builders of objects, examinations."""

"""The chart and the image on the lab."""

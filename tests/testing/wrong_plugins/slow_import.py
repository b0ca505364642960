"""An import that takes too long. Expected: It was not loaded within 0.5 s, and left out."""

import time

time.sleep(60)

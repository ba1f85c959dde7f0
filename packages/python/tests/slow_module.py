import time

time.sleep(1)
value = 42

def draw(run): return ""

-- One submission for wrk: the body comes from the environment, so that both servers get the same.
wrk.method = "POST"
wrk.body = os.getenv("SLUICE_BENCH_BODY")
wrk.headers["content-type"] = "application/json"

"""Products on two GPUs: by one process (`one`), or by a process for each (`fork`, `spawn`); with `kill` the second process is killed."""
import multiprocessing
import os
import sys
import time

COUNT = 100


def products(number, killed=False):
    import torch

    if torch.cuda.is_available():
        matrix, wait = torch.ones(2048, 2048, device="cuda:%d" % number), lambda: torch.cuda.synchronize(number)
    else:
        matrix, wait = torch.ones(256, 256), lambda: None
    for i in range(COUNT):
        matrix @ matrix
        if killed:
            wait()
            time.sleep(0.01)
            if i == COUNT // 2 and number == 1:
                os.kill(os.getpid(), 9)
    wait()


if __name__ == "__main__":
    if sys.argv[1] == "one":
        products(0)
        products(1)
    else:
        context = multiprocessing.get_context("fork" if sys.argv[1] == "fork" else "spawn")
        workers = [context.Process(target=products, args=(number, sys.argv[1] == "kill")) for number in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

"""Serves requests as inference servers do: a front end starts an engine, the engine a worker for each GPU, which divide each layer's product
and add up their parts; requests go through queues, and the engine ends the workers with SIGTERM, as vLLM does.

usage: workers.py fork|spawn
Each of REQUESTS (8) requests takes TOKENS (16) iterations of LAYERS (4) layers: as many products and all-reduces on each worker.
"""
import multiprocessing
import os
import sys

REQUESTS, TOKENS, LAYERS, WIDTH = 8, 16, 4, 1024


def worker(rank, port, jobs, results):
    import torch
    import torch.distributed as dist

    onGpu = torch.cuda.is_available()
    device = torch.device("cuda", rank) if onGpu else torch.device("cpu")
    if onGpu:
        torch.cuda.set_device(device)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("nccl" if onGpu else "gloo", rank=rank, world_size=2, device_id=device if onGpu else None)
    weights = [torch.full((WIDTH, WIDTH), 1e-4, device=device) for _ in range(LAYERS)]
    with torch.inference_mode():
        while True:
            number = jobs.get()
            state = torch.ones(4, WIDTH, device=device)
            for _ in range(TOKENS):
                for weight in weights:
                    state = state @ weight
                    dist.all_reduce(state)
            results.put((number, rank, state.sum().item()))


def engine(how, port, requests, answers):
    context = multiprocessing.get_context(how)
    queues, results = [context.Queue() for _ in range(2)], context.Queue()
    workers = [context.Process(target=worker, args=(rank, port, queues[rank], results)) for rank in range(2)]
    for each in workers:
        each.start()
    while (number := requests.get()) is not None:
        for queue in queues:
            queue.put(number)
        answers.put([results.get() for _ in workers])
    for each in workers:
        each.terminate()
    for each in workers:
        each.join()


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    requests, answers = context.Queue(), context.Queue()
    process = context.Process(target=engine, args=(sys.argv[1], int(os.environ.get("PORT", "29650")), requests, answers))
    process.start()
    for number in range(REQUESTS):
        requests.put(number)
    requests.put(None)
    served = [answers.get() for _ in range(REQUESTS)]
    process.join()
    print("served", len(served), "by", sorted({rank for answer in served for _, rank, _ in answer}), "exit", process.exitcode, flush=True)

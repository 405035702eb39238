#include "ui/kit/program_title.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

TEST(ProgramTitle, NamesTheScriptOrModuleWithItsOptions)
{
    const std::pair<const char*, const char*> titles[] = {
        {"python train.py", "train.py"},
        {"/opt/torch/.venv/bin/python3 /tmp/w/loop.py --steps 40", "loop.py --steps 40"},
        {"python3.11 -u src/train.py", "train.py"},
        {"python3.14t src/train.py", "train.py"},
        {"env DELAY_MS=2 torchrun --nproc-per-node=2 --master-port 29500 ddp.py --lr 1e-3",
         "ddp.py --lr 1e-3"},
        {"CUDA_VISIBLE_DEVICES=0 python train.py", "train.py"},
        {"python -m torch.distributed.run --nproc-per-node 2 train.py", "train.py"},
        {"python -m vllm.entrypoints.openai.api_server --model m",
         "vllm.entrypoints.openai.api_server --model m"},
        {"accelerate launch --num_processes 2 run/train.py a b", "train.py a b"},
        {"uv run train.py", "train.py"},
        {"nice -n 5 timeout 60 python 'my folder/train it.py' x", "train it.py x"},
        {"torchrun --nproc-per-node 2 /work/bin/step", "step"},
        {"build/bin/step --size 1024", "step --size 1024"},
        {"./a.out", "a.out"},
        {"sh run.sh", "sh run.sh"},
        {"python -c 'print(1)'", "python -c print(1)"},
        {"/usr/bin/python3", "python3"},
    };
    for (const auto& [name, title] : titles)
        EXPECT_EQ(programTitle(name), title) << name;
}

TEST(ProgramTitle, IsTheStemOfAnImportedFile)
{
    const std::pair<const char*, const char*> titles[] = {
        {"step.pt.trace.json.gz", "step"},  {"ddp_rank0.json.gz and 1 more", "ddp_rank0 +1"},
        {"report1.nsys-rep", "report1"},    {"memory.pickle", "memory"},
        {"plugins/host.xplane.pb", "host"},
    };
    for (const auto& [name, title] : titles)
        EXPECT_EQ(programTitle(name), title) << name;
}

TEST(ProgramTitle, LeavesOtherNames)
{
    for (const char* name : {"", "lm", "study: warm-up", "it's", "a | b", "A=1", ".json"})
        EXPECT_EQ(programTitle(name), name);
}

} // namespace
} // namespace tilescope::ui

#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace tilescope {

/// Begins a script that needs no compiler. PyTorch's optimizers import it, which takes as long as half of PyTorch, only to tell it
/// that it shall not trace them.
inline const std::string kWithoutCompiler =
    "import sys, types\n"
    "sys.modules['torch._dynamo'] = types.SimpleNamespace(disable=lambda function, *_, **__: function,\n"
    "                                                     graph_break=lambda: None)\n";

/// Three steps of a model; the program calls `step` for each.
inline std::string steps(const std::string& before, const std::string& step,
                         const std::string& start = kWithoutCompiler)
{
    return before + "\n" + start +
           "import torch\n"
           "model = torch.nn.Linear(4, 4)\n"
           "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
           "def closure():\n"
           "    optimizer.zero_grad()\n"
           "    loss = model(torch.randn(8, 4)).square().mean()\n"
           "    loss.backward()\n"
           "    return loss\n"
           "for _ in range(3):\n"
           "    " +
           step + "\n";
}

/// tests/data/record/train.py, with another call of its layers, preparation of its model or number of workers.
inline std::string training(const std::string& call = "layer(x)", const std::string& prepare = "model",
                            const std::string& workers = "0")
{
    std::ifstream file(TRAINING_SCRIPT);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const auto& [word, by] :
         {std::pair{std::string("= CALL"), call}, {"= PREPARE", prepare}, {"=WORKERS", workers}})
        text.replace(text.find(word) + 1, word.size() - 1, by);
    return text;
}

} // namespace tilescope

#include "tests/ui/waiting_fixture.h"

#include "core/model/host_samples.h"
#include "core/model/processes.h"
#include "core/store/run_writer.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>

namespace tilescope::test {

namespace {

constexpr ThreadId kMain{412};
constexpr DeviceIndex kGpu{0};
constexpr int kSteps = 12;
constexpr double kPeriod = 500e3; // ns between samples

constexpr const char* kTrain = R"(import logging

import torch
from transformers import LlamaForCausalLM

logger = logging.getLogger(__name__)


def load(batches):
    batch = next(batches)
    return batch["input_ids"].cuda(non_blocking=True)


def train_step(model, optimizer, tokens):
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def main(model, optimizer, batches, steps):
    for step in range(steps):
        tokens = load(batches)
        loss = train_step(model, optimizer, tokens)
        logger.info("step %d: loss %.3f", step, loss)


main(*setup())
)";

constexpr const char* kModel = R"(import torch
from torch import nn


class LlamaRMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class LlamaDecoderLayer(nn.Module):
    def forward(self, hidden_states):
        hidden_states = hidden_states + self.self_attn(self.input_layernorm(hidden_states))
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class LlamaForCausalLM(nn.Module):
    def forward(self, input_ids, labels):
        hidden_states = self.embed_tokens(input_ids)
        for decoder_layer in self.layers:
            hidden_states = decoder_layer(hidden_states)
        return self.loss(self.lm_head(self.norm(hidden_states)), labels)
)";

constexpr const char* kModelFile = "transformers/models/llama/modeling_llama.py";

/// The number of the line that has this text.
std::uint32_t lineOf(const std::string& source, const std::string& text)
{
    const std::size_t at = source.find(text);
    if (at == std::string::npos)
        throw std::logic_error("no line has " + text);
    return static_cast<std::uint32_t>(1 +
                                      std::count(source.begin(), source.begin() + std::ptrdiff_t(at), '\n'));
}

/// A host that runs Python and launches work for a GPU, whose stack is sampled.
class Host {
public:
    Host(StringTable& strings, bool isCompiled) : strings_(strings), isCompiled_(isCompiled)
    {
        batch_.threads = {{.thread = kMain, .name = strings_.intern("main"), .process = ProcessIndex{0}}};
        samples_.threads = {{.thread = kMain, .samples = {}}};
    }

    void run()
    {
        const std::uint32_t main =
            call(call(kNoStack, "train.py(29): <module>", lineOf(kTrain, "main(*setup")),
                 "train.py(22): main", lineOf(kTrain, "loss = train_step"));
        for (step_ = 0; step_ < kSteps; ++step_)
            step(main);
        std::ranges::stable_sort(samples_.threads[0].samples, {}, &HostSample::time);
    }
    const TraceBatch& batch() const { return batch_; }
    const HostSamples& samples() const { return samples_; }

private:
    std::uint32_t call(std::uint32_t caller, const std::string& function, std::uint32_t line)
    {
        const auto [known, isNew] =
            stacks_.try_emplace({caller, function, line}, static_cast<std::uint32_t>(samples_.stacks.size()));
        if (isNew)
            samples_.stacks.push_back({caller, function, line});
        return known->second;
    }
    std::uint32_t main(std::uint32_t main, const char* text)
    {
        return call(samples_.stacks[main].caller, "train.py(22): main", lineOf(kTrain, text));
    }

    void step(std::uint32_t mainStack)
    {
        const std::int64_t start = now_;
        const std::uint32_t load =
            call(main(mainStack, "tokens = load"), "train.py(9): load", lineOf(kTrain, "batch = next"));
        work(call(load, "torch/utils/data/dataloader.py(733): __next__", 741), 2.6e6, SampleState::kRan);
        launch(
            call(main(mainStack, "tokens = load"), "train.py(9): load", lineOf(kTrain, ".cuda(non_blocking")),
            30e3);
        const auto ofStep = [&](const char* text) {
            return call(main(mainStack, "loss = train_step"), "train.py(14): train_step",
                        lineOf(kTrain, text));
        };
        forward(ofStep("loss = model"));
        const std::uint32_t backward =
            call(call(ofStep("loss.backward()"), "torch/_tensor.py(575): backward", 630),
                 "torch/autograd/graph.py(820): _engine_run_backward", 829);
        for (int i = 0; i < 24; ++i) {
            work(backward, 420e3 / (isCompiled_ ? 3 : 1), SampleState::kRan);
            launch(backward, 60e3);
        }
        const std::uint32_t adam =
            call(call(ofStep("optimizer.step()"), "torch/optim/optimizer.py(500): wrapper", 517),
                 "torch/optim/adamw.py(550): _multi_tensor_adamw", 598);
        for (int i = 0; i < 6; ++i) {
            work(adam, 600e3, SampleState::kRan);
            launch(adam, 80e3);
        }
        synchronize(ofStep("return loss.item()"), 1.1e6);
        work(
            call(main(mainStack, "logger.info"), "/usr/lib/python3.12/logging/__init__.py(1500): info", 1513),
            0.9e6, SampleState::kRan);
        if (step_ % 4 == 3)
            work(main(mainStack, "logger.info"), 1.5e6, SampleState::kRan | SampleState::kCollects);
        Range range;
        range.id = RangeId{std::uint32_t(batch_.ranges.size())};
        range.thread = kMain;
        range.step = step_;
        range.start = timestampAt(start);
        range.end = timestampAt(now_);
        range.path = strings_.intern("step");
        range.name = strings_.intern("step_" + std::to_string(step_));
        batch_.ranges.push_back(range);
    }

    void forward(std::uint32_t caller)
    {
        const std::uint32_t model =
            call(call(caller, "torch/nn/modules/module.py(1780): _call_impl", 1784),
                 std::string(kModelFile) + "(26): forward", lineOf(kModel, "hidden_states = decoder_layer"));
        for (int layer = 0; layer < 12; ++layer)
            for (const char* text : {"self.self_attn", "self.mlp"}) {
                const std::uint32_t inLayer =
                    call(call(model, "torch/nn/modules/module.py(1780): _call_impl", 1784),
                         std::string(kModelFile) + "(20): forward", lineOf(kModel, text));
                const std::uint32_t norm =
                    call(inLayer, "torch/nn/modules/module.py(1780): _call_impl", 1784);
                const auto line = [&](const char* part) {
                    return call(norm, std::string(kModelFile) + "(11): forward", lineOf(kModel, part));
                };
                const double factor = isCompiled_ ? 0.25 : 1;
                for (const auto& [part, time] :
                     {std::pair("hidden_states = hidden_states.to", 80e3),
                      std::pair("variance = hidden_states.pow", 190e3), std::pair("torch.rsqrt", 110e3),
                      std::pair("return self.weight", 90e3)}) {
                    work(line(part), time * factor, SampleState::kRan);
                    launch(line(part), 12e3, "step/forward/LlamaForCausalLM");
                }
                work(call(norm, "torch/nn/modules/linear.py(130): forward", 134), 340e3 * factor,
                     SampleState::kInNative);
                launch(call(norm, "torch/nn/modules/linear.py(130): forward", 134), 90e3,
                       "step/forward/LlamaForCausalLM");
            }
    }

    /// The host is busy for a time that varies by a tenth.
    void work(std::uint32_t stack, double time, std::uint32_t state)
    {
        const double varied = time * (0.9 + 0.2 * std::uniform_real_distribution<double>()(random_));
        until(now_ + static_cast<std::int64_t>(varied), stack, state);
    }
    void until(std::int64_t end, std::uint32_t stack, std::uint32_t state)
    {
        for (; nextSample_ < end; nextSample_ += static_cast<std::int64_t>(
                                      kPeriod * (0.5 + std::uniform_real_distribution<double>()(random_))))
            if (nextSample_ >= now_)
                samples_.threads[0].samples.push_back({timestampAt(nextSample_), stack, state});
        now_ = end;
    }

    void launch(std::uint32_t stack, double kernel, const char* path = "step")
    {
        samples_.threads[0].samples.push_back({timestampAt(now_), stack, SampleState::kLaunch});
        DeviceEvent event;
        event.name = strings_.intern(
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
            "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)");
        event.path = strings_.intern(path);
        event.device = kGpu;
        event.stream = StreamId{7};
        event.correlation = CorrelationId{++correlation_};
        event.launchThread = kMain;
        event.step = step_;
        event.launched = timestampAt(now_);
        event.start = timestampAt(std::max(now_ + 4'000, deviceFree_));
        deviceFree_ = nanosecondsOf(event.start) + static_cast<std::int64_t>(kernel);
        event.end = timestampAt(deviceFree_);
        batch_.deviceEvents.push_back(event);
        now_ += 3'000;
    }

    void synchronize(std::uint32_t stack, double time)
    {
        samples_.threads[0].samples.push_back({timestampAt(now_), stack, SampleState::kLaunch});
        ApiCall made;
        made.name = strings_.intern("cudaStreamSynchronize");
        made.correlation = CorrelationId{++correlation_};
        made.kind = ApiKind::Synchronize;
        made.thread = kMain;
        made.step = step_;
        made.start = timestampAt(now_);
        until(std::max(deviceFree_, now_) + static_cast<std::int64_t>(time), stack, SampleState::kInCall);
        made.end = timestampAt(now_);
        batch_.apiCalls.push_back(made);
    }

    StringTable& strings_;
    bool isCompiled_;
    TraceBatch batch_;
    HostSamples samples_;
    std::map<std::tuple<std::uint32_t, std::string, std::uint32_t>, std::uint32_t> stacks_;
    std::mt19937 random_{7};
    std::int32_t step_ = 0;
    std::int64_t now_ = 1'000'000'000;
    std::int64_t nextSample_ = 1'000'000'000;
    std::int64_t deviceFree_ = 0;
    std::uint32_t correlation_ = 0;
};

void writeSource(const std::filesystem::path& file, const char* text)
{
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    std::filesystem::last_write_time(file,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(24));
}

} // namespace

void writeWaitingFile(const std::filesystem::path& file, const std::filesystem::path& sources)
{
    writeSource(sources / "train.py", kTrain);
    writeSource(sources / "site-packages" / kModelFile, kModel);
    StringTable strings;
    store::RunWriter writer(file, strings);
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    for (int run = 0; run < 3; ++run) {
        Host host(strings, run == 1);
        host.run();
        writer.beginRun({.name = "python train.py",
                         .workload = "trace",
                         .specJson = R"-({"workload":"trace","format":"recording","file":"train"})-",
                         .specHash = "hash-" + std::to_string(run),
                         .program = "Tilescope test",
                         .startedUnixNs = now.count(),
                         .clockOrigin = timestampAt(900'000'000)});
        std::vector<EnvironmentEntry> environment = {
            {"record.folder", sources.string(), ""},
            {"record.packages", (sources / "site-packages").string(), ""}};
        if (run < 2)
            environment.push_back(
                {"record.host_samples", "2000 samples a second, 0.1 % of the wake-ups late", ""});
        writer.writeEnvironment(environment);
        writer.writeTopology(
            {.clocks = {{.id = ClockIndex{0}, .name = "node", .method = "same clock"}},
             .processes = {{.id = ProcessIndex{0},
                            .pid = 4711,
                            .host = "node",
                            .name = "python",
                            .commandLine = "python train.py",
                            .clock = ClockIndex{0}}},
             .devices = {{.id = kGpu,
                          .name = "NVIDIA H200",
                          .memory = Bytes{150'754'820'096},
                          .multiprocessors = 132,
                          .capability = "9.0"}},
             .streams = {{.device = kGpu, .id = StreamId{7}, .process = ProcessIndex{0}, .native = 7}}});
        writer.write(host.batch());
        if (run < 2) {
            HostSamples samples = host.samples();
            writer.writeHostSamples({&samples, 1});
        }
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
    }
}

} // namespace tilescope::test

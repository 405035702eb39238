// The engine program with a workbench that behaves as configured instead of LibTorch: real protocol, real
// store.
//
//   FAKE_SCRIPT  what the points do, by their seed: `ok,segv,hang` (the last word holds for all that follow)
//                ok       a few samples, a small trace
//                slow     steps of 20 ms until it is stopped
//                hang     one step that never ends
//                segv kill abort   dies by that signal in the middle of a step
//                exit     ends with code 7 and last words
//                garbage  prints lines that are not events, one of 3 MB, then does its work
//                gate     silence until the file that FAKE_GATE names is there, then its work
//                waits    the same, but ends when it is stopped
//                samples  sends samples endlessly, faster than any window paints
//                flood    prints garbage and log events without end
//                partial  prints half an event and dies
//                failed1  rank 1 ends in an error, rank 0 without it
//                lost     its device is lost: a result, then the process ends
//                big      traces 200,000 events
//                flagged  sets every flag that leaves the engine usable; misflagged one that there is not
//                rank1    rank 1 dies by SIGSEGV, other ranks hang
//                compile  compiles its model until it is stopped
//                skipped  is skipped
//                oom      runs out of memory
//   FAKE_START   what happens before hello: environment (no such device), crash, hang, version
//   FAKE_TORCH, FAKE_PROCESSOR  its reported torch and processor, instead of `fake` and this machine's CPU
//   FAKE_WAITING  how busy the host was while ceilings were measured, in % of the time
//   FAKE_STARTS  a file that gets one byte for each start

#include "core/base/error.h"
#include "core/model/ceilings.h"
#include "core/model/flags.h"
#include "core/session/engine/engine_loop.h"
#include "core/session/protocol/stop_signals.h"
#include "tests/support/fake_trace.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

using namespace tilescope;
using namespace std::chrono_literals;

namespace {

std::string variable(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

// By the signal itself: a sanitizer's own handler would turn it into an exit code.
void dieBy(int signal)
{
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void print(const std::string& text)
{
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t length = write(STDOUT_FILENO, text.data() + written, text.size() - written);
        if (length < 0)
            std::_Exit(99); // nobody listens
        written += static_cast<std::size_t>(length);
    }
}

class FakeBench final : public Workbench {
public:
    explicit FakeBench(StringTable& strings) : strings_(strings)
    {
        std::stringstream script(variable("FAKE_SCRIPT"));
        for (std::string word; std::getline(script, word, ',');)
            script_.push_back(word);
        if (script_.empty())
            script_.emplace_back("ok");
    }

    std::string resolveDevice(const DeviceRequest& request, int /*rank*/) const override
    {
        if (request.kind == DeviceRequest::Kind::Cuda)
            throw Error{.what = "no usable NVIDIA GPU on this machine",
                        .where = "device: cuda",
                        .remedy = "use device: cpu",
                        .kind = ErrorKind::Environment};
        return "cpu";
    }

    std::vector<EnvironmentEntry> environment() const override
    {
        const std::string torch = variable("FAKE_TORCH");
        std::vector<EnvironmentEntry> entries{{"libtorch", torch.empty() ? "fake" : torch}};
        if (const std::string processor = variable("FAKE_PROCESSOR"); !processor.empty())
            entries.push_back({"cpu.model", processor});
        return entries;
    }

    ReplayResult replay(const ReplayRequest& request) override
    {
        resolveDevice(request.device, 0);
        if (script_.front() == "segv")
            misbehave("segv", {});
        if (request.op == "aten::refused")
            throw Error{.what = "no overload of aten::refused accepts the recorded arguments",
                        .where = "replay"};
        return {.device = "cpu",
                .signature = request.op,
                .calls = 7,
                .samplesNs = {900, 1000, 1100, 1000, 1000, 1000, 1200}};
    }

    std::vector<Ceiling> measureCeilings(const DeviceRequest& request) override
    {
        resolveDevice(request, 0);
        if (script_.front() == "segv")
            misbehave("segv", {});
        Ceiling matmul;
        matmul.kind = "matmul_fp32";
        matmul.value = 1e12;
        matmul.unit = "FLOP/s";
        matmul.n = 9;
        matmul.spread = 1e10;
        Ceiling copy = matmul;
        copy.kind = "copy";
        copy.value = 2e10;
        copy.unit = "B/s";
        Ceiling launch = matmul;
        launch.kind = "launch";
        launch.value = 1e5;
        launch.unit = "1/s";
        std::vector<Ceiling> ceilings{matmul, copy, launch};
        if (const std::string waiting = variable("FAKE_WAITING"); !waiting.empty()) {
            Ceiling& ceiling = ceilings.emplace_back();
            ceiling.kind = kHostWaiting;
            ceiling.value = std::stod(waiting);
            ceiling.unit = "%";
            ceiling.n = 1;
        }
        return ceilings;
    }

    RunResult runPoint(const ExperimentSpec& spec, PointObserver& observer, std::stop_token stop,
                       const std::optional<RankInfo>& rankInfo) override
    {
        const std::string& scripted =
            script_[std::min(static_cast<std::size_t>(spec.seed), script_.size() - 1)];
        std::string word = scripted;
        if (scripted == "rank1") // the others wait for it
            word = rankInfo && rankInfo->rank == 1 ? "segv" : "hang";
        if (word == "compile")
            return compile(observer, stop);
        if (word == "skipped")
            return {.status = RunStatus::Skipped, .reason = "this device cannot do it", .device = "cpu"};
        if (word == "oom")
            return {.status = RunStatus::Oom, .reason = "out of memory", .device = "cpu"};
        if (spec.compile.kind == CompileRequest::Kind::Inductor)
            observer.factsFound({{"result.compile_time", "1234", "ms"},
                                 {"result.inductor_output_error", "2e-07"},
                                 {"result.inductor_gradient_error", "3e-07"}});
        observer.stateChanged(PointState::Warmup);
        sample(observer, SampleKind::Warmup, 0);
        observer.stateChanged(PointState::Measure);
        sample(observer, SampleKind::Measure, 0);
        misbehave(word, stop);
        RunResult result;
        result.device = "cpu";
        for (int step = 1; step < spec.steps; ++step) {
            if (stop.stop_requested()) {
                result.status = RunStatus::Cancelled;
                return result;
            }
            if (word == "slow")
                std::this_thread::sleep_for(20ms);
            sample(observer, SampleKind::Measure, step);
        }
        observer.stateChanged(PointState::Trace);
        trace(observer, word == "big" ? 100'000 : 10);
        observer.stateChanged(PointState::Drain);
        if (word == "lost") {
            result.status = RunStatus::Error;
            result.reason = "the device failed";
            result.flags.push_back(flagText(FlagKind::DeviceLost));
        }
        if (word == "failed1" && rankInfo) {
            result.status = RunStatus::Error;
            result.reason = rankInfo->rank == 1 ? "it failed" : "rank 1 ended before all_reduce 3";
            if (rankInfo->rank != 1)
                result.flags.push_back(flagText(FlagKind::RankLost));
        }
        if (word == "flagged")
            for (const FlagInfo& flag : kFlags)
                if (flag.kind != FlagKind::DeviceLost && flag.kind != FlagKind::DevelopmentBuild)
                    result.flags.push_back(flagText(flag.kind, "made up"));
        if (word == "misflagged")
            result.flags.emplace_back("no-such-flag: made up");
        result.peakAllocated = Bytes{1 << 20};
        return result;
    }

private:
    static RunResult compile(PointObserver& observer, const std::stop_token& stop)
    {
        observer.stateChanged(PointState::Compile);
        while (!stop.stop_requested())
            std::this_thread::sleep_for(5ms);
        return {.status = RunStatus::Cancelled, .reason = {}, .device = "cpu"};
    }

    static void sample(PointObserver& observer, SampleKind kind, int step)
    {
        observer.sampleTaken(
            {.step = step, .kind = kind, .phase = Phase::Step, .wall = Nanoseconds(1'000'000 + step)});
        observer.memoryRead({.step = step, .kind = kind, .allocated = Bytes{(64 + step % 8) << 20}});
    }

    void trace(PointObserver& observer, int kernels)
    {
        testing::FakeTrace fake(strings_);
        const std::int64_t origin = nanosecondsOf(TraceClock::now());
        fake.step(0, origin, origin + 10 * kernels);
        for (int i = 0; i < kernels; ++i)
            fake.kernel("gemm", origin + 10 * i, origin + 10 * i + 5).alloc(64, 64, origin + 10 * i);
        fake.checked(2 * kernels + 1);
        observer.consume(TraceBatch(fake.batch()));
    }

    static void misbehave(const std::string& word, const std::stop_token& stop)
    {
        if (word == "segv")
            dieBy(SIGSEGV);
        else if (word == "kill")
            std::raise(SIGKILL);
        else if (word == "abort")
            dieBy(SIGABRT);
        else if (word == "exit") {
            std::fputs("first line\nCUDA error: an illegal memory access\n", stderr);
            std::fflush(stderr);
            std::_Exit(7);
        } else if (word == "hang")
            for (;;)
                std::this_thread::sleep_for(1h);
        else if (word == "garbage")
            print("not an event\n{\"half\": \n[1,2,3]\n\xff\xfe\n" + std::string(3'000'000, 'x') +
                  "\n{\"event\": \"future\", \"x\": 1}\n{\"event\": 7}\n");
        else if (word == "flood")
            for (;;)
                print(std::string(10'000, 'y') +
                      "\n{\"event\":\"log\",\"level\":\"info\",\"text\":\"flood\"}\n");
        else if (word == "gate" || word == "waits")
            while (!std::filesystem::exists(variable("FAKE_GATE")) &&
                   (word == "gate" || !stop.stop_requested()))
                std::this_thread::sleep_for(5ms);
        else if (word == "samples")
            for (std::int64_t step = 0;; ++step)
                print("{\"event\":\"sample\",\"run\":1,\"step\":" + std::to_string(step % 1000) +
                      ",\"wall_ns\":1000000}\n");
        else if (word == "partial") {
            print(R"({"event":"result","run":1,"sta)");
            std::_Exit(7);
        }
    }

    StringTable& strings_;
    std::vector<std::string> script_;
};

DeviceRequest deviceFrom(const std::string& word)
{
    return {word == "cuda"  ? DeviceRequest::Kind::Cuda
            : word == "cpu" ? DeviceRequest::Kind::Cpu
                            : DeviceRequest::Kind::Auto};
}

void start()
{
    if (const std::string file = variable("FAKE_STARTS"); !file.empty())
        std::ofstream(file, std::ios::app) << 'x';
    const std::string how = variable("FAKE_START");
    if (how == "crash")
        dieBy(SIGSEGV);
    else if (how == "hang")
        for (;;)
            std::this_thread::sleep_for(1h);
    else if (how == "version") {
        print("{\"event\":\"hello\",\"v\":2,\"version\":\"9.9\"}\n");
        std::this_thread::sleep_for(1h);
    }
}

} // namespace

int main(int argc, char** argv)
{
    start();
    session::EngineOptions options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string flag = argv[i];
        if (flag == "--file")
            options.file = argv[i + 1];
        else if (flag == "--command")
            options.commandLine = argv[i + 1];
        else if (flag == "--counter-interval")
            options.counterInterval = std::chrono::milliseconds(std::stoi(argv[i + 1]));
        else if (flag == "--device")
            options.required.push_back(deviceFrom(argv[i + 1]));
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    const session::StopSignals signals{SIGTERM, SIGUSR1};
    session::EventStream events(options.output);
    StringTable strings;
    FakeBench bench(strings);
    return session::runEngine(options, strings, bench, events, signals.first());
}

#include "tests/bench/tracing/bench_tracing.h"

#include "core/base/error.h"
#include "core/config/spec_file.h"
#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/model/text.h"
#include "core/store/run_writer.h"
#include "core/trace/allocators/cpu_allocator.h"
#include "core/trace/host/range.h"
#include "core/trace/tracer.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>
#include <torch/cuda.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace tilescope::bench {

namespace {

using nlohmann::json;
using trace::ScopedRange;

/// Writes batches into a file on a thread of its own, as the engine program does.
class StoringSink final : public TraceSink {
public:
    explicit StoringSink(const StringTable& strings)
        : file_(std::filesystem::temp_directory_path() /
                ("bench-tracing-" + std::to_string(getpid()) + "-" + std::to_string(++made) + ".tscope")),
          strings_(strings), thread_([this](const std::stop_token& stop) { run(stop); })
    {
    }
    ~StoringSink() override
    {
        thread_.request_stop();
        waiting_.notify_all();
        thread_.join();
        std::filesystem::remove(file_);
    }
    void consume(TraceBatch&& batch) override
    {
        {
            const std::scoped_lock lock(mutex_);
            for (const Loss& loss : batch.losses) {
                const std::string kind(strings_.text(loss.kind));
                losses_[kind] += loss.count;
                if (loss.severity != LossSeverity::Info)
                    lost_ += loss.count;
            }
            for (const DeviceEvent& event : batch.deviceEvents)
                inModule_ += strings_.text(event.path).find('/', sizeof("step/")) != std::string_view::npos;
            kernels_ += static_cast<std::int64_t>(batch.deviceEvents.size());
            ops_ += static_cast<std::int64_t>(batch.ops.size());
            calls_ += static_cast<std::int64_t>(batch.apiCalls.size());
            ranges_ += static_cast<std::int64_t>(batch.ranges.size());
            allocations_ += static_cast<std::int64_t>(batch.allocEvents.size());
            batches_.push_back(std::move(batch));
        }
        waiting_.notify_all();
    }
    /// Waits until everything is in the file, because writing during a step would slow the step.
    void settle()
    {
        std::unique_lock lock(mutex_);
        waiting_.wait(lock, [this] { return batches_.empty() && !writing_; });
    }
    json figures() const
    {
        const std::scoped_lock lock(mutex_);
        return {
            {"kernels", kernels_}, {"kernels_below_phase", inModule_}, {"ops", ops_},   {"calls", calls_},
            {"ranges", ranges_},   {"allocations", allocations_},      {"lost", lost_}, {"losses", losses_}};
    }
    std::int64_t lost() const
    {
        const std::scoped_lock lock(mutex_);
        return lost_;
    }

private:
    void run(const std::stop_token& stop)
    {
        try {
            write(stop);
        } catch (const Error& error) {
            // The figures would be of something else.
            std::fprintf(stderr, "bench_tracing: %s\n", error.sentence().c_str());
            std::abort();
        }
    }

    void write(const std::stop_token& stop)
    {
        store::RunWriter writer(file_, strings_);
        writer.beginRun(
            {.name = "bench", .workload = "lm", .specJson = "{}", .specHash = "0", .program = "bench"});
        std::unique_lock lock(mutex_);
        for (;;) {
            waiting_.wait(lock, stop, [this] { return !batches_.empty(); });
            if (batches_.empty())
                return;
            std::vector<TraceBatch> batches = std::exchange(batches_, {});
            writing_ = true;
            lock.unlock();
            for (const TraceBatch& batch : batches)
                writer.write(batch);
            writer.commit();
            lock.lock();
            writing_ = false;
            waiting_.notify_all();
        }
    }

    static inline int made = 0;

    const std::filesystem::path file_;
    const StringTable& strings_;
    mutable std::mutex mutex_;
    // Guarded by mutex_.
    std::vector<TraceBatch> batches_;
    bool writing_ = false;
    std::map<std::string, std::int64_t> losses_;
    std::int64_t kernels_ = 0, inModule_ = 0, ops_ = 0, calls_ = 0, ranges_ = 0, allocations_ = 0, lost_ = 0;
    std::condition_variable_any waiting_;
    std::jthread thread_;
};

struct Setting {
    std::string name;
    TraceLevel level;
    bool memory = true;
    bool detach = true;
};

Setting settingOf(const std::string& name)
{
    const std::array settings = {
        Setting{"kernels", TraceLevel::Kernels},
        Setting{"kernels-no-memory", TraceLevel::Kernels, false},
        Setting{"kernels-attached", TraceLevel::Kernels, true, false},
        Setting{"full", TraceLevel::Full},
        Setting{"full-no-memory", TraceLevel::Full, false},
        Setting{"full-attached", TraceLevel::Full, true, false},
    };
    const auto found = std::ranges::find(settings, name, &Setting::name);
    if (found == settings.end()) {
        throw Error{.what = "unknown setting '" + name + "'",
                    .where = "--settings",
                    .remedy = "allowed: kernels and full, plain or with -no-memory or -attached"};
    }
    return *found;
}

/// One experiment that runs steps, bare or traced.
class Steps {
public:
    explicit Steps(const StepOptions& options)
        : device_(at::Device(options.device == "cuda" ? "cuda:0" : options.device)), spec_(specOf(options)),
          experiment_(engine::makeExperiment(spec_, device_))
    {
        for (const Phase phase : {Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer}) {
            if (experiment_->has(phase))
                phases_.push_back(phase);
        }
    }

    /// Milliseconds from one idle device to the next.
    double run(int index)
    {
        experiment_->prepare();
        device_.synchronize();
        const auto start = std::chrono::steady_clock::now();
        {
            const ScopedRange step("step", "step_" + std::to_string(index));
            for (const Phase phase : phases_) {
                const ScopedRange range(wordOf(phase));
                experiment_->run(phase);
            }
            device_.synchronize();
        }
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
        experiment_->finish();
        return time.count();
    }

    std::vector<double> block(int count)
    {
        std::vector<double> times;
        for (int i = 0; i < count; ++i)
            times.push_back(run(i));
        return times;
    }

    std::vector<double> tracedBlock(trace::Tracer& tracer, int count, int first)
    {
        std::vector<double> times;
        if (device_.isCuda()) {
            tracer.start(trace::Recording::ReferenceStep);
            tracer.setStep(0);
            run(0);
            tracer.setStep(kNoStep);
            tracer.stop();
        }
        tracer.start();
        if (!tracer.untracedReason().empty())
            throw Error{.what = tracer.untracedReason(), .where = "CUPTI", .kind = ErrorKind::Environment};
        for (int i = 0; i < count; ++i) {
            tracer.setStep(first + i);
            times.push_back(run(first + i));
            tracer.setStep(kNoStep);
        }
        tracer.stop();
        return times;
    }

    trace::TracerOptions tracing(const Setting& setting) const
    {
        return {.level = setting.level,
                .memory = setting.memory,
                .cuda = device_.isCuda(),
                .device = device_.isCuda() ? DeviceIndex{device_.torch().index()} : DeviceIndex{},
                .detach = setting.detach};
    }

private:
    static ExperimentSpec specOf(const StepOptions& options)
    {
        const Workload workload = options.workload == "attention" ? Workload::Attention : Workload::Lm;
        std::map<std::string, std::string> keys = options.keys;
        if (workload == Workload::Lm)
            keys.merge(
                std::map<std::string, std::string>{{"size", "small"}, {"context", "128"}, {"batch", "4"}});
        keys.merge(std::map<std::string, std::string>{{"mode", "both"}, {"precision", "fp32"}});
        const auto specs = config::specFromOverrides(workload, {keys.begin(), keys.end()});
        return specs.at(0);
    }

    engine::Device device_;
    ExperimentSpec spec_;
    std::unique_ptr<engine::Experiment> experiment_;
    std::vector<Phase> phases_;
};

double medianOf(std::vector<double> values)
{
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

std::int64_t residentBytes()
{
    std::ifstream statm("/proc/self/statm");
    std::int64_t pages = 0;
    std::int64_t resident = 0;
    statm >> pages >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

void prepareDevice(const StepOptions& options)
{
    if (options.device.starts_with("cuda"))
        engine::initializeCuda();
    else
        trace::CpuAllocator::install();
}

} // namespace

namespace {

/// Times of one setting's steps and of the bare ones around them.
struct Pairs {
    std::vector<double> traced;
    std::vector<double> bare;
    int rejected = 0;
};

/// Medians of the steps at each place in their block: what comes only at its beginning shows.
json byPosition(const std::vector<double>& times, int block)
{
    json medians = json::array();
    for (int position = 0; position < block; ++position) {
        std::vector<double> here;
        for (auto i = static_cast<std::size_t>(position); i < times.size();
             i += static_cast<std::size_t>(block))
            here.push_back(times[i]);
        medians.push_back(medianOf(here));
    }
    return medians;
}

/// Bare, traced, bare, in turn, until enough rounds have bare blocks that agree.
Pairs interleave(Steps& steps, trace::Tracer& tracer, StoringSink& sink, const StepOptions& options)
{
    Pairs pairs;
    std::vector<double> before = steps.block(options.block);
    for (int round = 0; round < options.rounds;) {
        const std::vector<double> traced = steps.tracedBlock(tracer, options.block, round * options.block);
        sink.settle();
        const std::vector<double> after = steps.block(options.block);
        const double here = medianOf(before);
        const double there = medianOf(after);
        const bool drifted = std::abs(here - there) > options.drift * std::min(here, there);
        if (drifted && pairs.rejected < 4 * options.rounds) {
            ++pairs.rejected;
        } else {
            pairs.traced.insert(pairs.traced.end(), traced.begin(), traced.end());
            pairs.bare.insert(pairs.bare.end(), after.begin(), after.end());
            ++round;
        }
        before = after;
    }
    return pairs;
}

} // namespace

json stepCosts(const StepOptions& options)
{
    prepareDevice(options);
    Steps steps(options);
    steps.block(options.warmup);
    // Before any tracing: what a process that never traced shows.
    const int many = options.rounds * options.block;
    const std::vector<double> never = steps.block(many);

    StringTable strings;
    json result;
    std::vector<double> bare;
    std::int64_t lost = 0;
    int rejected = 0;
    for (const std::string& name : options.settings) {
        const Setting setting = settingOf(name);
        StoringSink sink(strings);
        trace::Tracer tracer(steps.tracing(setting), strings, sink);
        const Pairs pairs = interleave(steps, tracer, sink, options);
        json figures = sink.figures();
        figures["ms"] = medianOf(pairs.traced);
        figures["bare_ms"] = medianOf(pairs.bare);
        figures["ratio"] = medianOf(pairs.traced) / medianOf(pairs.bare);
        figures["steps"] = pairs.traced.size();
        figures["rejected_rounds"] = pairs.rejected;
        figures["ms_by_position"] = byPosition(pairs.traced, options.block);
        figures["bare_ms_by_position"] = byPosition(pairs.bare, options.block);
        result[name] = figures;
        bare.insert(bare.end(), pairs.bare.begin(), pairs.bare.end());
        rejected += pairs.rejected;
        lost += sink.lost();
    }
    const std::vector<double> after = steps.block(many);
    result["bare_ms"] = medianOf(bare);
    result["never_traced_ms"] = medianOf(never);
    result["never_traced_steps_ms"] = never;
    result["rejected_rounds"] = rejected;
    result["after_ms"] = medianOf(after);
    result["after_steps_ms"] = after;
    result["after_ratio"] = medianOf(after) / medianOf(never);
    result["dropped"] = lost;
    return result;
}

json soak(const StepOptions& options, int count)
{
    prepareDevice(options);
    Steps steps(options);
    steps.block(options.warmup);
    StringTable strings;
    StoringSink sink(strings);
    trace::Tracer tracer(steps.tracing(settingOf("full")), strings, sink);
    tracer.start(trace::Recording::ReferenceStep);
    steps.run(0);
    tracer.stop();
    tracer.start();
    json resident = json::array();
    for (int i = 0; i < count; ++i) {
        tracer.setStep(i);
        steps.run(i);
        tracer.setStep(kNoStep);
        if ((i + 1) % std::max(1, count / 10) == 0)
            resident.push_back(residentBytes() >> 20);
    }
    tracer.stop();
    return {{"steps", count}, {"resident_mib", resident}, {"events", sink.figures()}};
}

} // namespace tilescope::bench

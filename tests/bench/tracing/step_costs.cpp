#include "tests/bench/tracing/bench_tracing.h"

#include "core/base/error.h"
#include "core/config/spec_file.h"
#include "core/engine/device.h"
#include "core/engine/experiment.h"
#include "core/model/text.h"
#include "core/store/run_writer.h"
#include "core/trace/cpu_allocator.h"
#include "core/trace/range.h"
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
            lock.unlock();
            for (const TraceBatch& batch : batches)
                writer.write(batch);
            writer.commit();
            lock.lock();
        }
    }

    static inline int made = 0;

    const std::filesystem::path file_;
    const StringTable& strings_;
    mutable std::mutex mutex_;
    // Guarded by mutex_.
    std::vector<TraceBatch> batches_;
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
                    .mend = "allowed: kernels and full, plain or with -no-memory or -attached"};
    }
    return *found;
}

/// One lm that runs steps, bare or traced.
class Steps {
public:
    explicit Steps(const StepOptions& options)
        : device_(at::Device(options.device)), spec_(specOf(options)),
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
        const auto specs =
            config::specFromOverrides(Workload::Lm, {{"size", options.size},
                                                     {"mode", options.mode},
                                                     {"batch", std::to_string(options.batch)},
                                                     {"context", std::to_string(options.context)},
                                                     {"precision", "fp32"}});
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

json stepCosts(const StepOptions& options)
{
    prepareDevice(options);
    Steps steps(options);
    steps.block(options.warmup);
    // Before any tracing: what a process that never traced shows.
    const double never = medianOf(steps.block(options.rounds * options.block));

    std::vector<Setting> settings;
    for (const std::string& name : options.settings)
        settings.push_back(settingOf(name));
    StringTable strings;
    std::vector<std::unique_ptr<StoringSink>> sinks;
    std::vector<std::unique_ptr<trace::Tracer>> tracers;
    for (const Setting& setting : settings) {
        sinks.push_back(std::make_unique<StoringSink>(strings));
        tracers.push_back(std::make_unique<trace::Tracer>(steps.tracing(setting), strings, *sinks.back()));
    }

    std::vector<double> bare;
    std::vector<std::vector<double>> traced(settings.size());
    int rejected = 0;
    int first = 0;
    for (int round = 0; round < options.rounds;) {
        std::vector<double> before = steps.block(options.block);
        std::vector<std::vector<double>> times(settings.size());
        for (std::size_t turn = 0; turn < settings.size(); ++turn) {
            // Every other round backwards, so that no setting always follows the same one.
            const std::size_t i = round % 2 == 0 ? turn : settings.size() - 1 - turn;
            times[i] = steps.tracedBlock(*tracers[i], options.block, first);
            first += options.block;
        }
        const std::vector<double> after = steps.block(options.block);
        const double here = medianOf(before);
        const double there = medianOf(after);
        const bool drifted = std::abs(here - there) > options.drift * std::min(here, there);
        if (drifted && rejected < 4 * options.rounds) {
            ++rejected;
            continue;
        }
        bare.insert(bare.end(), before.begin(), before.end());
        bare.insert(bare.end(), after.begin(), after.end());
        for (std::size_t i = 0; i < settings.size(); ++i)
            traced[i].insert(traced[i].end(), times[i].begin(), times[i].end());
        ++round;
    }
    const double bareMs = medianOf(bare);
    json result{{"bare_ms", bareMs}, {"never_traced_ms", never}, {"rejected_rounds", rejected}};
    std::int64_t lost = 0;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        json figures = sinks[i]->figures();
        figures["ms"] = medianOf(traced[i]);
        figures["ratio"] = medianOf(traced[i]) / bareMs;
        figures["steps"] = traced[i].size();
        result[settings[i].name] = figures;
        lost += sinks[i]->lost();
    }
    tracers.clear();
    const double after = medianOf(steps.block(options.rounds * options.block));
    result["after_ms"] = after;
    result["after_ratio"] = after / never;
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

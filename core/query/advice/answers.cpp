#include "core/query/advice/answers.h"

#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/spec_work.h"
#include "core/base/error.h"
#include "core/base/quantity.h"
#include "core/base/shell_word.h"
#include "core/base/spelling.h"
#include "core/config/schema.h"
#include "core/model/attention_backend.h"
#include "core/model/text.h"
#include "core/query/advice/answer_figures.h"
#include "core/query/advice/rank_answers.h"
#include "core/query/ranks/rank_tables.h"
#include "core/query/runs/per_step.h"
#include "core/query/runs/side_reading.h"
#include "core/query/runs/traced_pieces.h"
#include "core/query/steps/step_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>

namespace tilescope::query {

namespace {

using analysis::KernelFamily;

constexpr double kWorthNaming = 0.5; // per cent
constexpr std::array kPhases{"forward", "loss", "backward", "optimizer"};

/// The data from which all questions are answered.
struct Subject {
    const store::RunReader& reader;
    const store::RunRecord& run;
    TracedPieces traced;
    std::string chosen = {}; ///< option of `show kernels` and `show ops` for the process: " --rank 1"

    std::string what(bool many) const
    {
        return traced.onGpu ? (many ? "kernels" : "kernel") : (many ? "ops" : "op");
    }
    std::string time() const { return traced.onGpu ? "GPU time" : "time"; }
    std::string show(const std::string& section) const
    {
        return "tilescope show " + shellPath(reader.file()) + " " + section + " --run " +
               std::to_string(run.run.value) + (section == "kernels" || section == "ops" ? chosen : "");
    }
    std::string showPieces(const std::string& range) const
    {
        return show(traced.onGpu ? "kernels" : "ops") + " --range " + shellWord(range);
    }
    double perStep(Nanoseconds time) const { return meanPerStep(time, traced.steps); }
    double perStep(std::int64_t count) const { return meanPerStep(static_cast<double>(count), traced.steps); }
};

using Chosen = std::function<bool(const Piece&)>;

Nanoseconds timeOf(const Subject& subject, const Chosen& chosen)
{
    Nanoseconds sum{0};
    for (const Piece& piece : subject.traced.pieces)
        if (chosen(piece))
            sum += piece.time;
    return sum;
}

Chosen inPhase(std::string phase)
{
    return [phase = std::move(phase)](const Piece& piece) { return piece.phase == phase; };
}

bool inForwardAndBackward(const Piece& piece)
{
    return piece.phase == "forward" || piece.phase == "loss" || piece.phase == "backward";
}

std::string number(double value, const char* format = "%.1f")
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

/// A count a step: whole where every step has as many.
std::string countText(double count)
{
    const bool isWhole = count == std::floor(count);
    return isWhole ? quantity::Scale{}.text(static_cast<std::int64_t>(count)) : quantity::threeDigits(count);
}

/// One kind of kernel.
struct Kind {
    std::string name;
    std::string does;
    KernelFamily family = KernelFamily::Other;
    Nanoseconds total{0};
    std::int64_t instances = 0;
};

/// Kinds of the chosen pieces, the costliest first.
std::vector<Kind> kindsOf(const Subject& subject, const Chosen& chosen)
{
    std::map<std::string_view, Kind> kinds;
    for (const Piece& piece : subject.traced.pieces) {
        if (!chosen(piece))
            continue;
        Kind& kind = kinds.try_emplace(piece.name, Kind{piece.name, piece.does, piece.family}).first->second;
        kind.total += piece.time;
        kind.instances += piece.instances;
    }
    std::vector<Kind> list;
    for (auto& [name, kind] : kinds)
        list.push_back(std::move(kind));
    std::stable_sort(list.begin(), list.end(),
                     [](const Kind& a, const Kind& b) { return a.total > b.total; });
    return list;
}

Answer matmulShare(const Subject& subject)
{
    Answer answer{.command = subject.show(subject.traced.onGpu ? "kernels" : "roofline") +
                             " --group family --range step/forward"};
    const auto isMatmul = [](const Piece& piece) { return piece.family == KernelFamily::Matmul; };
    const auto isAttention = [](const Piece& piece) { return piece.family == KernelFamily::Attention; };
    const Chosen forward = inPhase("forward");
    const auto both = [](const Chosen& a, const Chosen& b) {
        return [a, b](const Piece& piece) { return a(piece) && b(piece); };
    };
    const auto all = [](const Piece&) { return true; };
    const Nanoseconds ofForward = timeOf(subject, forward);
    const Nanoseconds ofStep = timeOf(subject, all);
    const auto inForward = percent(timeOf(subject, both(forward, isMatmul)), ofForward);
    const auto inStep = percent(timeOf(subject, isMatmul), ofStep);
    answer.figures = {{"matmul in forward", inForward, "%"}, {"matmul in the step", inStep, "%"}};
    if (timeOf(subject, isAttention).count() > 0) {
        answer.figures.push_back({"fused attention in forward",
                                  percent(timeOf(subject, both(forward, isAttention)), ofForward), "%"});
        answer.figures.push_back(
            {"fused attention in the step", percent(timeOf(subject, isAttention), ofStep), "%"});
    }
    answer.sentence = "Matmuls take " + number(inForward.value_or(0)) + " % of the " + subject.time() +
                      " of forward and " + number(inStep.value_or(0)) + " % of that of the whole step.";
    return answer;
}

Answer topKernel(const Subject& subject)
{
    Answer answer{.command = subject.showPieces("step/forward")};
    const std::vector<Kind> forward = kindsOf(subject, inPhase("forward"));
    const std::vector<Kind> both = kindsOf(subject, inForwardAndBackward);
    const Kind& first = forward.front();
    const Kind& ofBoth = both.front();
    const auto share = percent(first.total, timeOf(subject, inPhase("forward")));
    const auto shareOfBoth = percent(ofBoth.total, timeOf(subject, inForwardAndBackward));
    answer.figures = {{first.name + ", share of forward", share, "%", first.does},
                      {first.name + ", time in a forward", subject.perStep(first.total), "ns"},
                      {first.name + ", times in a forward", subject.perStep(first.instances)},
                      {ofBoth.name + ", share of forward and backward", shareOfBoth, "%", ofBoth.does},
                      {ofBoth.name + ", times in forward and backward", subject.perStep(ofBoth.instances)}};
    answer.sentence = "The costliest " + subject.what(false) + " of forward is " + first.name + " (" +
                      number(share.value_or(0)) + " %, " + countText(subject.perStep(first.instances)) +
                      " times a forward); ";
    answer.sentence += first.name == ofBoth.name
                           ? "it is also the costliest of forward and backward together (" +
                                 number(shareOfBoth.value_or(0)) + " %)."
                           : "the costliest of forward and backward together is " + ofBoth.name + " (" +
                                 number(shareOfBoth.value_or(0)) + " %).";
    return answer;
}

Answer otherKernels(const Subject& subject)
{
    Answer answer{.command = subject.showPieces("step/forward")};
    const Nanoseconds whole = timeOf(subject, inPhase("forward"));
    std::string list;
    for (const Kind& kind : kindsOf(subject, inPhase("forward"))) {
        const auto share = percent(kind.total, whole);
        if (kind.family == KernelFamily::Matmul || !share || *share < kWorthNaming)
            continue;
        answer.figures.push_back(
            {kind.name, share, "%", kind.does.empty() ? std::string(wordOf(kind.family)) : kind.does});
        list += (list.empty() ? "" : ", ") + kind.name + " " + number(*share) + " %";
    }
    answer.sentence = answer.figures.empty()
                          ? "No " + subject.what(false) + " of forward but matmuls takes 0.5 % of its time."
                          : "Besides matmuls, " + std::to_string(answer.figures.size()) + " " +
                                subject.what(answer.figures.size() > 1) +
                                (answer.figures.size() > 1 ? " take" : " takes") +
                                " 0.5 % of the time of forward or more: " + list + ".";
    return answer;
}

/// Time of softmax and of the two products in attention's forward.
struct AttentionTimes {
    Nanoseconds softmax{0};
    Nanoseconds matmuls{0};
};

bool endsIn(std::string_view path, std::string_view module)
{
    return path.ends_with(module) || path.find(std::string(module) + "/") != std::string_view::npos;
}

AttentionTimes attentionTimes(const Subject& subject, const ExperimentSpec& spec)
{
    AttentionTimes times;
    for (const Piece& piece : subject.traced.pieces) {
        if (piece.phase != "forward" || piece.path.find("/attention") == std::string_view::npos)
            continue;
        const bool matmul = piece.family == KernelFamily::Matmul;
        if (spec.annotateAttention) {
            if (endsIn(piece.path, "/attention/softmax"))
                times.softmax += piece.time;
            else if (matmul &&
                     (endsIn(piece.path, "/attention/scores") || endsIn(piece.path, "/attention/output")))
                times.matmuls += piece.time;
            continue;
        }
        // Projections are mm and addmm; the products of attention are batched.
        if (piece.family == KernelFamily::Softmax)
            times.softmax += piece.time;
        else if (matmul && (piece.isBatched || spec.workload == Workload::Attention))
            times.matmuls += piece.time;
    }
    return times;
}

/// Why a run of naive attention does not distinguish softmax and matmuls, and which run would.
std::string whyIndistinct(const ExperimentSpec& spec)
{
    if (spec.annotateAttention)
        return "No softmax and no matmuls were traced within the ranges of attention.";
    std::string why =
        "Softmax and the two matmuls of attention cannot be distinguished from its projections: run "
        "with --annotate-attention true";
    return why + (spec.trace == TraceLevel::Full ? "." : ", or with --trace full.");
}

Answer softmaxInAttention(const Subject& subject)
{
    Answer answer{.command = subject.show(subject.traced.onGpu ? "kernels" : "roofline") +
                             " --group family --range 'step/forward/**/attention'"};
    std::string why;
    const auto spec = config::specOf(subject.run.specJson, &why);
    if (!spec)
        why = "Softmax and matmuls of attention cannot be distinguished: " + why + ".";
    if (spec && !traitsOf(spec->backend).keepsScores)
        why = "Softmax has no time of its own: " + std::string(wordOf(spec->backend)) +
              " computes attention in one kernel. Use backend: naive.";
    const AttentionTimes times = spec && why.empty() ? attentionTimes(subject, *spec) : AttentionTimes{};
    if (spec && why.empty() && (times.softmax.count() == 0 || times.matmuls.count() == 0))
        why = whyIndistinct(*spec);
    if (!why.empty()) {
        answer.sentence = why;
        return answer;
    }
    std::int64_t matmulFlops = 0;
    std::int64_t pairs = 0;
    for (const analysis::SpecWork& work : analysis::specWork(*spec))
        if (work.phase == Phase::Forward && (work.what == "scores" || work.what == "output")) {
            matmulFlops += work.work.flops.count;
            if (work.what == "scores")
                pairs += work.work.flops.count /
                         (2 * (spec->workload == Workload::Lm ? spec->dModel / spec->heads : spec->headDim));
        }
    constexpr double kSoftmaxFlops = 5; // a score: maximum, difference, exponential, sum, quotient
    const double softmaxFlops = kSoftmaxFlops * static_cast<double>(pairs);
    const double timeRatio =
        static_cast<double>(times.softmax.count()) / static_cast<double>(times.matmuls.count());
    const double flopRatio = softmaxFlops / static_cast<double>(matmulFlops);
    answer.figures = {{"softmax, time a step", subject.perStep(times.softmax), "ns"},
                      {"two matmuls, time a step", subject.perStep(times.matmuls), "ns"},
                      {"softmax, FLOPs a step", softmaxFlops, "FLOP"},
                      {"two matmuls, FLOPs a step", static_cast<double>(matmulFlops), "FLOP"},
                      {"softmax / matmuls by time", timeRatio, "1"},
                      {"softmax / matmuls by FLOPs", flopRatio, "1"}};
    answer.sentence = "In attention's forward, softmax takes " + number(timeRatio, "%.2f") +
                      " times the time of the two matmuls for " + number(flopRatio, "%.3f") +
                      " times their FLOPs.";
    return answer;
}

/// Median wall of the timed steps by phase, ns.
std::map<std::string_view, double> wallOfPhases(const Subject& subject)
{
    std::map<std::string_view, std::vector<double>> walls;
    for (const Sample& sample : subject.reader.samples(subject.run.run))
        if (sample.kind == SampleKind::Measure)
            walls[wordOf(sample.phase)].push_back(static_cast<double>(sample.wall.count()));
    std::map<std::string_view, double> medians;
    for (const auto& [phase, values] : walls)
        medians[phase] = analysis::median(values);
    return medians;
}

Answer phaseTime(const Subject& subject)
{
    Answer answer{.command = subject.show("runs")};
    const auto walls = wallOfPhases(subject);
    std::string list;
    for (const char* phase : kPhases) {
        const Nanoseconds busy = timeOf(subject, inPhase(phase));
        if (busy.count() == 0)
            continue;
        const double perStep = subject.perStep(busy);
        const auto wall = walls.find(phase);
        const std::string name(phase);
        answer.figures.push_back({name + ", " + subject.time() + " a traced step", perStep, "ns"});
        answer.figures.push_back({name + ", wall of a timed step",
                                  wall == walls.end() ? std::nullopt : std::optional(wall->second), "ns"});
        list += (list.empty() ? "" : "; ") + name + " " + timeText(perStep);
        if (wall != walls.end())
            list += " of " + subject.what(true) + " in " + timeText(wall->second) + " of wall (" +
                    number(100 * perStep / wall->second) + " %)";
    }
    answer.sentence = list + ".";
    answer.sentence.front() =
        static_cast<char>(std::toupper(static_cast<unsigned char>(answer.sentence.front())));
    return answer;
}

Answer instances(const Subject& subject)
{
    Answer answer{.command = subject.show(subject.traced.onGpu ? "kernels" : "ops") + " --group phase"};
    std::string list;
    for (const char* phase : kPhases) {
        std::int64_t count = 0;
        for (const Piece& piece : subject.traced.pieces)
            count += piece.phase == phase ? piece.instances : 0;
        if (count == 0)
            continue;
        const double perStep = subject.perStep(count);
        answer.figures.push_back({std::string(phase) + ", " + subject.what(true) + " a step", perStep});
        list += (list.empty() ? "" : ", ") + countText(perStep) + " in " + phase;
    }
    answer.sentence = "A step runs these " + subject.what(true) + ": " + list + ".";
    return answer;
}

struct Question {
    std::string_view name;
    std::string_view text;
    Answer (*answer)(const Subject&);
};

constexpr std::array kQuestions{
    Question{"matmul-share", "What share of the time is spent in matmuls, in forward and in a whole step?",
             matmulShare},
    Question{"top-kernel", "Which kernel of forward takes the most time, and is it the same with backward?",
             topKernel},
    Question{"other-kernels",
             "Which kernels besides matmuls take 0.5 % of forward or more, and what do they do?",
             otherKernels},
    Question{"softmax-in-attention",
             "How does softmax compare with the two matmuls of attention, by time and FLOPs?",
             softmaxInAttention},
    Question{"phase-time", "For what share of the wall time of each phase do kernels run?", phaseTime},
    Question{"instances", "How many kernels does each phase of a step run?", instances}};

std::vector<std::string_view> questionNames()
{
    std::vector<std::string_view> names;
    for (const Question& question : kQuestions)
        names.push_back(question.name);
    for (const RankQuestion& question : rankQuestions())
        names.push_back(question.name);
    return names;
}

bool isAsked(const RankQuestion& question, const std::optional<std::string>& name)
{
    return !name || *name == question.name;
}

/// Questions about all ranks are answered if the run has collectives, and always one that is asked by name.
bool asksAboutRanks(const store::RunReader& reader, RunId run, const std::optional<std::string>& name)
{
    return std::ranges::any_of(rankQuestions(),
                               [&](const RankQuestion& question) { return isAsked(question, name); }) &&
           (name || !reader.collectives(run).empty());
}

void addRankAnswers(AnswersTable& table, const store::RunReader& reader,
                    const std::optional<std::string>& name, const RanksTable& whole)
{
    for (const RankQuestion& question : rankQuestions()) {
        if (!isAsked(question, name))
            continue;
        Answer answer = question.answer(whole);
        answer.name = question.name;
        answer.question = question.text;
        answer.command = "tilescope show " + shellPath(reader.file()) + " " + std::string(question.section) +
                         " --run " + std::to_string(table.run.run.value);
        table.rows.push_back(std::move(answer));
    }
}

/// The requested process, otherwise that of the lowest rank; none in a run of one process.
const TracedProcess* chooseProcess(const RunTopology& topology, const ProcessQuery& query)
{
    const TracedProcess* chosen = nullptr;
    for (const TracedProcess& process : topology.processes)
        if ((!query.rank || process.rank == query.rank) && (!query.pid || process.pid == query.pid) &&
            (!chosen || (process.rank && (!chosen->rank || *process.rank < *chosen->rank))))
            chosen = &process;
    return topology.processes.size() > 1 ? chosen : nullptr;
}

/// Why no question on the forward can be answered, and what to do.
std::string whyUnanswered(const Subject& subject)
{
    if (!subject.run.coversRecording())
        return "The run has no traced forward: run with --trace kernels or full and --trace-steps 3.";
    constexpr const char* kMark =
        " in the program by ranges step_0, step_1, … with a range `forward` in each.";
    if (stepsOf(subject.reader, subject.run.run).empty())
        return std::string("The recording has no steps: mark them") + kMark;
    if (subject.traced.pieces.empty())
        return "The steps of the recording contain neither kernels nor ops: record with --ops.";
    return std::string("Its steps have no forward: mark them") + kMark;
}

} // namespace

AnswersTable answers(const store::RunReader& reader, const EventQuery& query, std::optional<std::string> name)
{
    const std::vector<std::string_view> names = questionNames();
    if (name && std::ranges::find(names, *name) == names.end())
        throw Error{.what = "there is no question '" + *name + "'",
                    .where = "show answers",
                    .remedy = didYouMean(*name, names)};
    AnswersTable table{.run = chooseRun(reader, query.run)};
    ProcessQuery asked = query.topology;
    std::string chosen;
    const RunTopology topology = reader.topology(table.run.run);
    if (const TracedProcess* process = chooseProcess(topology, query.topology)) {
        table.rank = process->rank;
        table.process = TopologyIndex(topology, {}).titleOf(process->id);
        chosen = process->rank ? " --rank " + std::to_string(*process->rank)
                               : " --process " + std::to_string(process->pid);
        asked.rank = process->rank;
        asked.pid = process->rank ? asked.pid : process->pid;
    }
    static const std::function<bool()> kNever = [] { return false; };
    std::optional<SideReading<RanksTable>> ofRanks;
    if (asksAboutRanks(reader, table.run.run, name))
        ofRanks.emplace(reader, table.run, kNever,
                        [run = table.run.run](const store::RunReader& own, const auto& cancelled) {
                            return ranks(own, {.run = run}, cancelled);
                        });
    const Subject subject{reader, table.run, tracedPieces(reader, table.run.run, asked), chosen};
    const bool any =
        std::any_of(subject.traced.pieces.begin(), subject.traced.pieces.end(), inPhase("forward"));
    for (const Question& question : kQuestions) {
        if (name && *name != question.name)
            continue;
        Answer answer;
        if (any)
            answer = question.answer(subject);
        else
            answer.sentence = whyUnanswered(subject);
        answer.name = question.name;
        answer.question = question.text;
        table.rows.push_back(std::move(answer));
    }
    if (ofRanks)
        addRankAnswers(table, reader, name, ofRanks->take());
    return table;
}

} // namespace tilescope::query

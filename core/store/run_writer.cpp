#include "core/store/run_writer.h"

#include "core/base/error.h"
#include "core/model/text.h"
#include "core/store/database.h"
#include "core/store/file_check.h"
#include "core/store/row_appender.h"
#include "core/store/row_ledger.h"
#include "core/store/schema.h"
#include "core/store/string_map.h"
#include "core/store/writer_lock.h"

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

constexpr int kBusyMs = 10'000;
/// Events of one transaction at most: what a killed writer can lose, and what SQLite keeps in its log before
/// it may clear it.
constexpr std::size_t kRowsPerCommit = 200'000;

std::int64_t unixNs()
{
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// RFC 9562, version 4.
std::string newUuid()
{
    std::random_device random;
    std::array<std::uint32_t, 4> words{};
    for (std::uint32_t& word : words)
        word = random();
    words[1] = (words[1] & 0xffff0fffU) | 0x00004000U;
    words[2] = (words[2] & 0x3fffffffU) | 0x80000000U;
    std::array<char, 37> text{};
    std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%04x%08x", words[0], words[1] >> 16,
                  words[1] & 0xffffU, words[2] >> 16, words[2] & 0xffffU, words[3]);
    return text.data();
}

std::string hostName()
{
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

/// Opens the database of a file whose writer lock is held, creating or upgrading it.
std::unique_ptr<SQLite::Database> openForWriting(const fs::path& file)
{
    std::error_code error;
    const bool isNew = !fs::exists(file, error) || fs::file_size(file, error) == 0;
    const auto migrations = embeddedMigrations();
    const int newest = static_cast<int>(migrations.size());
    const int version = isNew ? 0 : requireTilescopeFile(file, newest).version;
    if (!isNew && access(file.c_str(), W_OK) != 0)
        throw Error{
            .what = "cannot be written", .where = file.string(), .mend = "choose a file that you may write"};
    const int flags = SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX | (isNew ? SQLite::OPEN_CREATE : 0);
    auto database = std::make_unique<SQLite::Database>(file.string(), flags, kBusyMs);
    harden(*database);
    if (isNew)
        database->exec("pragma page_size = 16384");
    else
        requireOurSchema(*database, file, version, migrations);
    // Before the log is switched on, so that even a file that lost its log is known as ours.
    if (version < newest)
        migrate(*database, version, migrations);
    database->exec("pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 2000;"
                   "pragma cache_size = -65536; pragma temp_store = memory");
    return database;
}

} // namespace

class RunWriter::Impl {
public:
    Impl(fs::path path, const StringTable& strings)
        : file(std::move(path)), lock(file), database(openForWriting(file)), ledger(*database),
          // Interning the words of our enumerations already writes.
          opened(begin()), map(*database, ledger, strings)
    {
        for (std::size_t kind = 0; kind < kEventKinds; ++kind)
            appenders[kind].emplace(*database, ledger, static_cast<EventKind>(kind));
        adopt();
        commit();
    }

    void beginRun(const RunHeader& header);
    void writeEnvironment(std::span<const EnvironmentEntry> entries);
    void writeSamples(std::span<const Sample> samples);
    void write(const TraceBatch& batch);
    void endRun(const RunResult& result);
    void commit();
    void seal();

    /// Runs one member of the writer: an error of SQLite's becomes ours, and after any error nothing more is
    /// written.
    template <class Work> void guarded(Work&& work)
    {
        if (failure)
            throw *failure;
        try {
            translating(file, work);
        } catch (const Error& error) {
            failure = error;
            if (failure->where.empty())
                failure->where = file.string();
            if (sqlite3_get_autocommit(database->getHandle()) == 0)
                database->tryExec("rollback");
            throw *failure;
        }
    }

    const fs::path file;
    WriterLock lock; // taken before the database is opened, let go after it is closed
    std::unique_ptr<SQLite::Database> database;
    RowLedger ledger;
    bool opened;
    StringMap map;
    std::array<std::optional<RowAppender>, kEventKinds> appenders;
    RowFrame frame;
    std::string uid;
    std::optional<Error> failure;

private:
    bool begin();
    void adopt();
    template <class Record> void append(EventKind kind, const Record& record)
    {
        toRow(record, frame, map, appenders[static_cast<std::size_t>(kind)]->append());
    }
    void countRows(std::size_t rows);
    void writeThreads(std::span<const ThreadName> threads);
    void writeLosses(std::span<const Loss> losses);
    void updateRunChecksum();

    std::size_t rowsSinceCommit_ = 0;
};

bool RunWriter::Impl::begin()
{
    if (sqlite3_get_autocommit(database->getHandle()) != 0)
        database->exec("begin immediate");
    return true;
}

/// Takes the file over: it is unsealed from now on, and runs whose writer died are called so.
void RunWriter::Impl::adopt()
{
    SQLite::Statement row(*database, "insert into file (id, created, program, sealed) values (1, ?, ?, 0) "
                                     "on conflict (id) do update set sealed = 0");
    row.bind(1, unixNs());
    row.bind(2, "Tilescope");
    row.exec();
    std::vector<std::int64_t> orphans;
    SQLite::Statement query(*database, "select id from run where status = 'running'");
    while (query.executeStep())
        orphans.push_back(query.getColumn(0).getInt64());
    for (const std::int64_t run : orphans) {
        SQLite::Statement update(*database,
                                 "update run set status = 'interrupted', reason = 'its writer died' "
                                 "where id = ?");
        update.bind(1, run);
        update.exec();
        frame.run = run;
        updateRunChecksum();
    }
    frame.run = 0;
}

void RunWriter::Impl::updateRunChecksum()
{
    SQLite::Statement query(*database, "select * from run where id = ?");
    query.bind(1, frame.run);
    if (query.executeStep())
        ledger.replaceRunRow(frame.run, digestOf(query));
}

void RunWriter::Impl::beginRun(const RunHeader& header)
{
    begin();
    frame.run = ledger.takeId(Source::Run);
    frame.firstRange = ledger.nextId(Source::Range);
    frame.firstOp = ledger.nextId(Source::Op);
    frame.clockOrigin = nanosecondsOf(TraceClock::now());
    uid = newUuid();
    SQLite::Statement insert(
        *database, "insert into run (id, uid, name, workload, spec, spec_hash, program, host, pid, status, "
                   "started, clock_origin, first_range, first_op) "
                   "values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?)");
    insert.bind(1, frame.run);
    insert.bind(2, uid);
    insert.bind(3, header.name);
    insert.bind(4, header.workload);
    insert.bind(5, header.specJson);
    insert.bind(6, header.specHash);
    insert.bind(7, header.program);
    insert.bind(8, hostName());
    insert.bind(9, static_cast<std::int64_t>(getpid()));
    insert.bind(10, unixNs());
    insert.bind(11, frame.clockOrigin);
    insert.bind(12, frame.firstRange);
    insert.bind(13, frame.firstOp);
    insert.exec();
    ledger.add({.run = frame.run, .source = Source::Run, .first = frame.run, .last = frame.run, .rows = 1});
    updateRunChecksum();
    commit();
}

void RunWriter::Impl::writeEnvironment(std::span<const EnvironmentEntry> entries)
{
    begin();
    SQLite::Statement insert(*database,
                             "insert into environment (id, run, key, value, unit) values (?, ?, ?, ?, ?)");
    for (const EnvironmentEntry& entry : entries) {
        const std::int64_t id = ledger.takeId(Source::Environment);
        insert.bind(1, id);
        insert.bind(2, frame.run);
        insert.bindNoCopy(3, entry.key);
        insert.bindNoCopy(4, entry.value);
        insert.bindNoCopy(5, entry.unit);
        insert.exec();
        insert.reset();
        RowDigest digest;
        digest.add(id);
        digest.add(frame.run);
        for (const std::string* text : {&entry.key, &entry.value, &entry.unit})
            digest.add(std::string_view(*text));
        ledger.add(Source::Environment, frame.run, id, digest);
    }
}

void RunWriter::Impl::writeSamples(std::span<const Sample> samples)
{
    begin();
    SQLite::Statement insert(*database, "insert into sample (id, run, step, kind, phase, wall_ns, gpu_ns) "
                                        "values (?, ?, ?, ?, ?, ?, ?)");
    for (const Sample& sample : samples) {
        const std::int64_t id = ledger.takeId(Source::Sample);
        insert.bind(1, id);
        insert.bind(2, frame.run);
        insert.bind(3, sample.step);
        insert.bind(4, wordOf(sample.kind).data());
        insert.bind(5, wordOf(sample.phase).data());
        insert.bind(6, static_cast<std::int64_t>(sample.wall.count()));
        if (sample.gpu)
            insert.bind(7, static_cast<std::int64_t>(sample.gpu->count()));
        else
            insert.bind(7);
        insert.exec();
        insert.reset();
        RowDigest digest;
        for (const std::int64_t value : {id, frame.run, static_cast<std::int64_t>(sample.step)})
            digest.add(value);
        digest.add(wordOf(sample.kind));
        digest.add(wordOf(sample.phase));
        digest.add(static_cast<std::int64_t>(sample.wall.count()));
        digest.add(sample.gpu ? static_cast<std::int64_t>(sample.gpu->count()) : kNull);
        ledger.add(Source::Sample, frame.run, id, digest);
    }
}

void RunWriter::Impl::writeThreads(std::span<const ThreadName> threads)
{
    SQLite::Statement insert(*database, "insert into thread (id, run, thread, name) values (?, ?, ?, ?)");
    for (const ThreadName& thread : threads) {
        const std::int64_t id = ledger.takeId(Source::Thread);
        const std::int64_t name = map.text(thread.name);
        insert.bind(1, id);
        insert.bind(2, frame.run);
        insert.bind(3, thread.thread.value);
        if (name == kNull)
            insert.bind(4);
        else
            insert.bind(4, name);
        insert.exec();
        insert.reset();
        RowDigest digest;
        for (const std::int64_t value : {id, frame.run, static_cast<std::int64_t>(thread.thread.value), name})
            digest.add(value);
        ledger.add(Source::Thread, frame.run, id, digest);
    }
}

void RunWriter::Impl::writeLosses(std::span<const Loss> losses)
{
    SQLite::Statement insert(
        *database, "insert into loss (id, run, kind, severity, count, detail) values (?, ?, ?, ?, ?, ?)");
    for (const Loss& loss : losses) {
        const std::int64_t id = ledger.takeId(Source::Loss);
        const std::string kind(map.textOf(loss.kind));
        const std::string detail(map.textOf(loss.detail));
        insert.bind(1, id);
        insert.bind(2, frame.run);
        insert.bindNoCopy(3, kind);
        insert.bind(4, wordOf(loss.severity).data());
        insert.bind(5, loss.count);
        insert.bindNoCopy(6, detail);
        insert.exec();
        insert.reset();
        RowDigest digest;
        digest.add(id);
        digest.add(frame.run);
        digest.add(std::string_view(kind));
        digest.add(wordOf(loss.severity));
        digest.add(loss.count);
        digest.add(std::string_view(detail));
        ledger.add(Source::Loss, frame.run, id, digest);
    }
}

void RunWriter::Impl::write(const TraceBatch& batch)
{
    begin();
    for (const Range& range : batch.ranges)
        append(EventKind::Range, range);
    for (const Op& op : batch.ops)
        append(EventKind::Op, op);
    for (const ApiCall& call : batch.apiCalls)
        append(EventKind::ApiCall, call);
    for (const DeviceEvent& event : batch.deviceEvents)
        append(kindOf(event), event);
    for (const AllocEvent& event : batch.allocEvents)
        append(EventKind::Allocation, event);
    writeThreads(batch.threads);
    writeLosses(batch.losses);
    if (batch.recordsChecked > 0) {
        SQLite::Statement update(*database,
                                 "update run set records_checked = records_checked + ? where id = ?");
        update.bind(1, batch.recordsChecked);
        update.bind(2, frame.run);
        update.exec();
        updateRunChecksum();
    }
    countRows(batch.ranges.size() + batch.ops.size() + batch.apiCalls.size() + batch.deviceEvents.size() +
              batch.allocEvents.size());
}

void RunWriter::Impl::countRows(std::size_t rows)
{
    rowsSinceCommit_ += rows;
    if (rowsSinceCommit_ >= kRowsPerCommit)
        commit();
}

void RunWriter::Impl::commit()
{
    if (sqlite3_get_autocommit(database->getHandle()) != 0)
        return;
    for (auto& appender : appenders)
        appender->flush();
    ledger.flush();
    database->exec("commit");
    rowsSinceCommit_ = 0;
}

void RunWriter::Impl::endRun(const RunResult& result)
{
    begin();
    SQLite::Statement update(
        *database,
        "update run set status = ?, reason = ?, device = ?, parameters = ?, before_backward = ?, "
        "peak_allocated = ?, peak_reserved = ?, trace_overhead = ?, loss = ?, oom_requested = ?, "
        "oom_allocated = ?, oom_reserved = ?, oom_phase = ?, flags = ?, duration = ? where id = ?");
    const auto bytes = [](const std::optional<Bytes>& value) {
        return value ? std::optional<std::int64_t>(value->count) : std::nullopt;
    };
    const auto bind = [&update](int position, const auto& value) {
        if (value)
            update.bind(position, *value);
        else
            update.bind(position);
    };
    const OomInfo oom = result.oom.value_or(OomInfo{});
    update.bind(1, wordOf(result.status).data());
    update.bind(2, result.reason);
    update.bind(3, result.device);
    bind(4, result.parameters);
    bind(5, bytes(result.beforeBackward));
    bind(6, bytes(result.peakAllocated));
    bind(7, bytes(result.peakReserved));
    bind(8, result.traceOverhead);
    bind(9, result.loss);
    bind(10, bytes(oom.requested));
    bind(11, bytes(oom.allocated));
    bind(12, bytes(oom.reserved));
    bind(13, result.oom ? std::optional(oom.phase) : std::nullopt);
    update.bind(14, nlohmann::json(result.flags).dump());
    update.bind(15, static_cast<std::int64_t>(result.duration.count()));
    update.bind(16, frame.run);
    update.exec();
    updateRunChecksum();
    commit();
    frame = {};
    uid.clear();
}

void RunWriter::Impl::seal()
{
    if (frame.run != 0) {
        RunResult result;
        result.status = RunStatus::Interrupted;
        result.reason = "the program ended before the run did";
        endRun(result);
    }
    database->exec("update file set sealed = 1");
    database->exec("pragma journal_mode = delete");
}

RunWriter::RunWriter(const fs::path& file, const StringTable& strings)
{
    // Looked at before the lock leaves its trace beside it: a foreign file and its folder stay untouched.
    std::error_code error;
    if (fs::exists(file, error) && !(fs::is_regular_file(file, error) && fs::file_size(file, error) == 0))
        requireTilescopeFile(file, static_cast<int>(embeddedMigrations().size()));
    translating(file, [&] { impl_ = std::make_unique<Impl>(file, strings); });
}

RunWriter::~RunWriter()
{
    if (impl_->failure)
        return; // what was committed is in the file and its log; the next writer seals it
    try {
        translating(impl_->file, [this] { impl_->seal(); });
    } catch (...) {
        spdlog::error("{}", currentExceptionSentence());
    }
}

RunId RunWriter::beginRun(const RunHeader& header)
{
    impl_->guarded([&] { impl_->beginRun(header); });
    return run();
}

void RunWriter::writeEnvironment(std::span<const EnvironmentEntry> entries)
{
    impl_->guarded([&] { impl_->writeEnvironment(entries); });
}

void RunWriter::writeSamples(std::span<const Sample> samples)
{
    impl_->guarded([&] { impl_->writeSamples(samples); });
}

void RunWriter::write(const TraceBatch& batch)
{
    impl_->guarded([&] { impl_->write(batch); });
}

void RunWriter::commit()
{
    impl_->guarded([&] { impl_->commit(); });
}

void RunWriter::endRun(const RunResult& result)
{
    impl_->guarded([&] { impl_->endRun(result); });
}

std::string RunWriter::uid() const
{
    return impl_->uid;
}

RunId RunWriter::run() const
{
    return impl_->frame.run == 0 ? RunId::none() : RunId{impl_->frame.run};
}

} // namespace tilescope::store

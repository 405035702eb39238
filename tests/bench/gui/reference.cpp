#include "reference.h"

#include "core/base/error.h"
#include "probe.h"

#include <QEvent>
#include <QPainter>
#include <QWidget>

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace tilescope::bench {

namespace {

class PixelFill : public QWidget {
public:
    explicit PixelFill(const QSize& size) : QWidget(nullptr, Qt::FramelessWindowHint)
    {
        setAttribute(Qt::WA_OpaquePaintEvent);
        setFixedSize(size);
        move(0, 0);
    }

protected:
    bool event(QEvent* event) override
    {
        if (event->type() == QEvent::User)
            update();
        return QWidget::event(event);
    }
    void paintEvent(QPaintEvent*) override
    {
        QPainter(this).fillRect(rect(), frames_++ % 2 == 0 ? Qt::white : Qt::lightGray);
    }

private:
    int frames_ = 0;
};

Error sqliteError(sqlite3* database, const QString& file)
{
    return Error{.what = sqlite3_errmsg(database), .where = file.toStdString()};
}

/// Reads each column of each row; blobs are not copied.
void readAll(sqlite3* database, const char* table, const QString& file)
{
    const std::string sql = std::string("select * from ") + table;
    sqlite3_stmt* row = nullptr;
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &row, nullptr) != SQLITE_OK)
        throw sqliteError(database, file);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(row, &sqlite3_finalize);
    const int columns = sqlite3_column_count(row);
    std::int64_t sum = 0;
    while (sqlite3_step(row) == SQLITE_ROW)
        for (int column = 0; column < columns; ++column) {
            sqlite3_value* value = sqlite3_column_value(row, column);
            if (sqlite3_value_type(value) == SQLITE_BLOB)
                sum += sqlite3_value_blob(value) != nullptr ? sqlite3_value_bytes(value) : 0;
            else
                sum += sqlite3_value_int64(value);
        }
    volatile std::int64_t used = sum;
    static_cast<void>(used);
}

} // namespace

double rawReadMs(const QString& file, std::initializer_list<const char*> tables)
{
    std::array<double, 3> times{};
    for (double& time : times) {
        const Stopwatch watch;
        sqlite3* handle = nullptr;
        const int opened =
            sqlite3_open_v2(file.toUtf8(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
        const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(handle, &sqlite3_close);
        if (opened != SQLITE_OK)
            throw sqliteError(handle, file);
        for (const char* table : tables)
            readAll(handle, table, file);
        time = watch.read().wall;
    }
    std::ranges::sort(times);
    return times[1];
}

void measureFills(const QSize& size, const QString& prefix, QJsonObject& references)
{
    constexpr int kFrames = 100;
    PixelFill fill(size);
    fill.show();
    runUntil("the reference is shown", [&fill] { return fill.isVisible(); });
    rest(std::chrono::milliseconds(50));
    FrameTimes times;
    for (int i = 0; i < kFrames; ++i)
        times.add(frame(fill, new QEvent(QEvent::User)));
    references[prefix + QStringLiteral("_ms_p50")] = times.wall(50);
    references[prefix + QStringLiteral("_ms_p99")] = times.wall(99);
}

} // namespace tilescope::bench

#pragma once

#include <QJsonObject>
#include <QSize>
#include <QString>

#include <initializer_list>

namespace tilescope::bench {

/// The least time that this machine needs for the same work. Figures of machines are compared as multiples of it.

/// Time to read all rows of these tables of `file` with SQLite alone, ms: the median of three times.
/// \throws Error
double rawReadMs(const QString& file, std::initializer_list<const char*> tables);

/// Frames of a bare widget of this size that fills each of its pixels: PREFIX_ms_p50, PREFIX_ms_p99.
void measureFills(const QSize& size, const QString& prefix, QJsonObject& references);

} // namespace tilescope::bench

#pragma once

#include "ui/kit/time_axis.h"

#include <QObject>

#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// The state that the plots of the Memory page share: visible time interval, cursor, instant and selected span;
/// nanoseconds from the first traced step. GUI thread.
class MemoryAxis : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    /// Resets window, history, cursor, instant and span.
    /// \param isLimited  the window never leaves the bounds
    void start(const TimeWindow& bounds, bool isLimited = false);
    const TimeWindow& bounds() const { return bounds_; }
    /// Lives until start().
    std::shared_ptr<const void> content() const { return content_; }
    const TimeWindow& window() const { return window_; }
    /// \param remember  for back()
    void setWindow(const TimeWindow& window, bool remember = true);
    void fit();
    void back();
    void forward();
    bool canGoBack() const { return !past_.empty(); }
    bool canGoForward() const { return !future_.empty(); }

    const std::optional<double>& cursor() const { return cursor_; }
    void setCursor(std::optional<double> time);
    double instant() const { return instant_; }
    void setInstant(double time);
    const std::optional<TimeWindow>& span() const { return span_; }
    void setSpan(std::optional<TimeWindow> span);

signals:
    void windowChanged();
    /// The user has moved from a window to the present one.
    void moved(const TimeWindow& before);
    void cursorChanged();
    void instantChanged();
    void spanChanged();

private:
    static constexpr double kShortest = 100; // nanoseconds that a window shows at least

    std::shared_ptr<const int> content_ = std::make_shared<int>();
    TimeWindow bounds_;
    bool isLimited_ = false;
    TimeWindow window_;
    std::vector<TimeWindow> past_, future_;
    std::optional<double> cursor_;
    double instant_ = 0;
    std::optional<TimeWindow> span_;
};

} // namespace tilescope::ui

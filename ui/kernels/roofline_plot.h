#pragma once

#include "ui/kit/table_model.h"
#include "ui/kit/themed_plot.h"

#include <optional>
#include <vector>

namespace tilescope::ui {

/// A kernel or a group of kernels on the roofline.
struct RooflineBubble {
    std::int64_t id = 0;
    QString label;
    Swatch swatch;
    double intensity = 0; ///< FLOP/B
    double rate = 0;      ///< FLOP/s
    double total = 0;     ///< ns: the bubble's area
    /// What the hardware did, if it was sampled: a ring beside the bubble.
    double sampledIntensity = 0; ///< FLOP/B of device memory; 0: unknown
    double sampledRate = 0;      ///< FLOP/s
    bool isSampled = false;      ///< the bubble itself is of samples: the work of the ops is unknown
};

/// The ceilings of a device; unknown ones are absent.
struct Roof {
    std::optional<double> flops; ///< FLOP/s
    std::optional<double> bytes; ///< B/s
    QString source;              ///< measured, data sheet

    bool known() const { return flops || bytes; }
};

/// Rate against arithmetic intensity, both logarithmic, under the device's roofs: the first is drawn strong,
/// a second dashed. A ring, joined to its bubble, is what was sampled in the hardware. A click chooses a bubble; the current one is ringed. GUI thread.
class RooflinePlot : public ThemedPlot {
    Q_OBJECT
public:
    explicit RooflinePlot(QWidget* parent = nullptr);

    void show(std::vector<RooflineBubble> bubbles, std::vector<Roof> roofs);
    void setCurrent(std::optional<std::int64_t> id);
    std::optional<std::int64_t> current() const { return current_; }
    const std::vector<RooflineBubble>& bubbles() const { return bubbles_; }
    /// The bubble at a point of the widget; null if there is none.
    std::optional<std::int64_t> bubbleAt(const QPointF& place) const;

signals:
    void chosen(std::int64_t id);

protected:
    void mouseReleaseEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    void build();
    void setRanges();
    void addRoof(const Roof& roof, bool strong);
    QString words() const;
    void addBubble(const RooflineBubble& bubble);
    void addSampled(const RooflineBubble& bubble);
    void fitRoofWords();
    void placeLabels();
    void addLabel(const QPointF& place, const QString& text, Qt::Alignment alignment);
    double radiusOf(const RooflineBubble& bubble) const;
    QPointF pixelOf(double intensity, double rate) const;
    const RooflineBubble* find(std::int64_t id) const;

    std::vector<RooflineBubble> bubbles_; // the largest first: smaller ones are drawn over them
    std::vector<Roof> roofs_;
    std::optional<std::int64_t> current_;
    struct RoofWords {
        QCPItemText* item;
        QStringList texts; ///< the longest first
    };
    std::vector<RoofWords> roofWords_;
    std::vector<QCPItemText*> labels_;
    double unit_ = 1e12; // of the rate axis
};

} // namespace tilescope::ui

#pragma once

#include <QPaintDevice>
#include <QPaintEngine>
#include <QRectF>
#include <QString>

#include <cmath>
#include <vector>

namespace tilescope::ui {

/// Records the texts that widgets paint: `widget.render(&recorder)`. Everything else is dropped; so is what
/// reaches the widget as a picture, such as the plots of QCustomPlot.
class TextRecorder : public QPaintDevice {
public:
    struct Text {
        QString words;
        QRectF rect; ///< in the device's coordinates
    };

    explicit TextRecorder(const QSize& size) : size_(size) {}
    const std::vector<Text>& texts() const { return engine_.texts; }
    QPaintEngine* paintEngine() const override { return &engine_; }

protected:
    int metric(PaintDeviceMetric metric) const override
    {
        switch (metric) {
        case PdmWidth:
            return size_.width();
        case PdmHeight:
            return size_.height();
        case PdmDepth:
            return 32;
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY:
            return 96;
        case PdmDevicePixelRatio:
            return 1;
        default:
            return QPaintDevice::metric(metric);
        }
    }

private:
    struct Engine : QPaintEngine {
        Engine() : QPaintEngine(QPaintEngine::AllFeatures) {}
        bool begin(QPaintDevice*) override { return true; }
        bool end() override { return true; }
        void updateState(const QPaintEngineState&) override {}
        void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
        void drawTiledPixmap(const QRectF&, const QPixmap&, const QPointF&) override {}
        void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override {}
        void drawPath(const QPainterPath&) override {}
        void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
        void drawPolygon(const QPoint*, int, PolygonDrawMode) override {}
        Type type() const override { return QPaintEngine::User; }
        void drawTextItem(const QPointF& at, const QTextItem& item) override
        {
            const QPointF from = state->transform().map(at);
            const QRectF rect(from.x(), from.y() - item.ascent(), item.width(),
                              item.ascent() + item.descent());
            // A text of several scripts or fonts comes in pieces.
            if (!texts.empty() && std::abs(texts.back().rect.right() - rect.left()) < 0.5 &&
                std::abs(texts.back().rect.bottom() - rect.bottom()) < 3) {
                texts.back().words += item.text();
                texts.back().rect.setRight(rect.right());
            } else {
                texts.push_back({item.text(), rect});
            }
        }

        std::vector<Text> texts;
    };

    QSize size_;
    mutable Engine engine_;
};

} // namespace tilescope::ui

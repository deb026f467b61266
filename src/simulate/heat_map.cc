#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "simulate/report.h"

namespace stator::simulate {
namespace {

constexpr double kLeft = 90;
constexpr double kWidth = 840;  // of the plots
constexpr double kChart = 90;   // height of what is consumed
constexpr double kMost = 320;   // height of the heat
constexpr size_t kMostRows = 160;

struct Colour {
  double r, g, b;
};

// From cold to the maximum of a partition; throttled parts are drawn over it.
std::string ColourOf(double heat) {
  static constexpr std::array<Colour, 5> kScale = {
      {{247, 251, 255}, {198, 219, 239}, {253, 208, 120}, {241, 130, 53}, {177, 30, 30}}};
  const double at = std::clamp(heat, 0.0, 1.0) * (kScale.size() - 1);
  const size_t i = std::min<size_t>(static_cast<size_t>(at), kScale.size() - 2);
  const double f = at - static_cast<double>(i);
  const auto mix = [f](double a, double b) {
    return static_cast<int>(std::lround(a + (b - a) * f));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(kScale[i].r, kScale[i + 1].r),
                     mix(kScale[i].g, kScale[i + 1].g), mix(kScale[i].b, kScale[i + 1].b));
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

void Text(std::string* out, double x, double y, std::string_view text,
          std::string_view style = "") {
  *out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, style, Escaped(text));
}

void Lines(std::string* out, const HeatPanel& r, double top, double most,
           double (*value)(const Column&), std::string_view style) {
  *out += fmt::format("<polyline fill=\"none\" {} points=\"", style);
  const double step = kWidth / static_cast<double>(r.columns.size());
  for (size_t i = 0; i < r.columns.size(); ++i) {
    const double y = top + kChart - kChart * std::min(1.0, value(r.columns[i]) / most);
    *out += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", kLeft + step * static_cast<double>(i), y,
                        kLeft + step * static_cast<double>(i + 1), y);
  }
  *out += "\"/>\n";
}

// Units of one kind over time: provisioned, consumed, and consumed with what was refused.
void Chart(std::string* out, const HeatPanel& r, double top, bool writes) {
  using Value = double (*)(const Column&);
  const Value capacity = writes ? Value([](const Column& c) { return c.capacity.write; })
                                : Value([](const Column& c) { return c.capacity.read; });
  const Value consumed = writes ? Value([](const Column& c) { return c.consumed.write; })
                                : Value([](const Column& c) { return c.consumed.read; });
  const Value asked =
      writes ? Value([](const Column& c) { return c.consumed.write + c.refused.write; })
             : Value([](const Column& c) { return c.consumed.read + c.refused.read; });
  double most = 1;
  for (const Column& c : r.columns) most = std::max({most, capacity(c), asked(c)});
  *out += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#fafafa\" stroke=\"#ccc\"/>\n",
      kLeft, top, kWidth, kChart);
  Lines(out, r, top, most, asked, "stroke=\"#d33\" stroke-width=\"1\"");
  // On demand nothing is provisioned.
  if (std::any_of(r.columns.begin(), r.columns.end(),
                  [&](const Column& c) { return capacity(c) > 0; })) {
    Lines(out, r, top, most, capacity,
          "stroke=\"#333\" stroke-width=\"1\" stroke-dasharray=\"4 3\"");
  }
  Lines(out, r, top, most, consumed, "stroke=\"#2166ac\" stroke-width=\"1.5\"");
  Text(out, kLeft - 6, top + 10, fmt::format("{:.0f}", most), " text-anchor=\"end\"");
  Text(out, kLeft - 6, top + kChart, "0", " text-anchor=\"end\"");
  Text(out, kLeft - 6, top + kChart / 2, writes ? "WCU" : "RCU", " text-anchor=\"end\"");
}

std::string NameOf(const Row& row) {
  const std::string range = RangeText(row.range);
  return row.partition == 0 ? range : fmt::format("partition {} ({})", row.partition, range);
}

// Height of the drawn rows.
double Heat(std::string* out, const HeatPanel& r, double top) {
  // Very many partitions share a line, which shows the hottest of them.
  const size_t group = (r.rows.size() + kMostRows - 1) / kMostRows;
  const size_t lines = (r.rows.size() + group - 1) / group;
  const double height = std::clamp(kMost / static_cast<double>(lines), 2.0, 24.0);
  const double step = kWidth / static_cast<double>(r.columns.size());
  for (size_t line = 0; line < lines; ++line) {
    const double y = top + height * static_cast<double>(line);
    const auto value = [&](size_t column, bool refused) {
      float most = 0;
      for (size_t i = line * group; i < std::min(r.rows.size(), (line + 1) * group); ++i) {
        most = std::max(most, refused ? r.rows[i].refused[column] : r.rows[i].heat[column]);
      }
      return static_cast<double>(most);
    };
    // Neighbours of one colour are one rectangle.
    for (size_t column = 0; column < r.columns.size();) {
      const std::string colour = ColourOf(value(column, false));
      const int refused = static_cast<int>(std::ceil(value(column, true) * 4));
      size_t end = column + 1;
      while (end < r.columns.size() && ColourOf(value(end, false)) == colour &&
             static_cast<int>(std::ceil(value(end, true) * 4)) == refused) {
        ++end;
      }
      const double x = kLeft + step * static_cast<double>(column);
      const double width = step * static_cast<double>(end - column);
      *out += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\">"
          "<title>{}: {:.0f}% of its maximum, {:.0f}% of requests throttled</title></rect>\n",
          x, y, width + 0.05, height + 0.05, colour, Escaped(NameOf(r.rows[line * group])),
          100 * value(column, false), 100 * value(column, true));
      if (refused > 0) {
        *out += fmt::format(
            "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
            "fill=\"url(#refused{})\"/>\n",
            x, y, width, height, refused);
      }
      column = end;
    }
  }
  const double total = height * static_cast<double>(lines);
  *out += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#ccc\"/>\n",
      kLeft, top, kWidth, total);
  Text(out, kLeft - 6, top + 10, "hash 0%", " text-anchor=\"end\"");
  if (total > 30) Text(out, kLeft - 6, top + total, "100%", " text-anchor=\"end\"");
  return total;
}

}  // namespace

std::string HeatMap(const Scenario& s, const Outcome& o) {
  HeatPicture picture{s.name, s.description, {}, {}};
  for (const ResourceOutcome& r : o.resources) {
    picture.panels.push_back({fmt::format("{} {}: {} partitions at the start, {} at the end",
                                          r.is_index ? "Index" : "Table", r.name,
                                          r.partitions_before, r.partitions_after),
                              r.columns, r.rows});
  }
  for (size_t i = 0; i < picture.times.size(); ++i)
    picture.times[i] = DurationText(s.duration_seconds * static_cast<double>(i) / 4);
  return HeatMap(picture);
}

std::string HeatMap(const HeatPicture& picture) {
  std::string body;
  double y = 30;
  Text(&body, 10, y, picture.title, " font-size=\"18\" font-weight=\"bold\"");
  if (!picture.description.empty()) Text(&body, 10, y += 20, picture.description);
  y += 22;
  // How to read it.
  double x = kLeft;
  Text(&body, 10, y, "heat:");
  for (int i = 0; i <= 4; ++i, x += 70) {
    body += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"12\" fill=\"{}\" stroke=\"#ccc\"/>\n", x,
        y - 10, ColourOf(i / 4.0));
    Text(&body, x + 18, y, fmt::format("{}%", 25 * i));
  }
  body += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"12\" fill=\"url(#refused4)\" "
      "stroke=\"#ccc\"/>\n",
      x, y - 10);
  Text(&body, x + 18, y, "throttled");
  Text(&body, x + 110, y, "lines: dashed provisioned, blue consumed, red asked for");
  for (const HeatPanel& r : picture.panels) {
    if (r.columns.empty()) continue;
    y += 34;
    Text(&body, 10, y, r.heading, " font-size=\"14\" font-weight=\"bold\"");
    y += 10;
    for (const bool writes : {false, true}) {
      const bool idle = std::all_of(r.columns.begin(), r.columns.end(), [&](const Column& c) {
        return writes ? c.consumed.write + c.refused.write == 0
                      : c.consumed.read + c.refused.read == 0;
      });
      if (idle) continue;
      Chart(&body, r, y, writes);
      y += kChart + 8;
    }
    y += Heat(&body, r, y) + 16;
    for (size_t i = 0; i < picture.times.size(); ++i) {
      Text(&body, kLeft + kWidth * static_cast<double>(i) / 4, y, picture.times[i],
           " text-anchor=\"middle\"");
    }
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" viewBox=\"0 0 "
      "{0} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n<defs>\n",
      kLeft + kWidth + 30, y + 20);
  for (int i = 1; i <= 4; ++i) {
    svg += fmt::format(
        "<pattern id=\"refused{}\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"{:.1f}\" height=\"4\" fill=\"black\" "
        "fill-opacity=\"0.75\"/></pattern>\n",
        i, 0.5 * i);
  }
  return svg + "</defs>\n" + body + "</svg>\n";
}

}  // namespace stator::simulate

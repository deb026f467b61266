// Draws the heat map of a simulation as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "simulate/report.h"

namespace stator::simulate {
namespace {

constexpr double kLeft = 90;
constexpr double kWidth = 840;  // of the plots
constexpr double kChart = 90;   // height of what is consumed
constexpr double kMost = 320;   // height of the heat, unless rows with names take more
constexpr size_t kMostRows = 160;

constexpr double kCounts = 34;  // height of the number of partitions
constexpr int kShades = 20;
constexpr size_t kMostMarks = 400;
constexpr size_t kNameColumns = 10;  // a hot band this wide has room for a name
constexpr double kNameHeight = 12;
constexpr size_t kNamedRows = 48;  // up to this number each has room for a name
constexpr double kNameDrop = 4;    // of the base line below the middle
constexpr size_t kNameBytes = 40;
constexpr double kLetter = 6;  // width of one, nearly

struct Colour {
  double r, g, b;
};
using Scale = std::array<Colour, 5>;

// From cold to the limit in force; throttled parts are drawn over it.
constexpr Scale kLight = {
    {{247, 251, 255}, {198, 219, 239}, {253, 208, 120}, {241, 130, 53}, {177, 30, 30}}};
constexpr Scale kDark = {
    {{24, 30, 38}, {38, 70, 104}, {140, 106, 38}, {214, 112, 42}, {238, 76, 66}}};

std::string ColourOf(const Scale& scale, double heat) {
  const double at = std::clamp(heat, 0.0, 1.0) * (scale.size() - 1);
  const size_t i = std::min<size_t>(static_cast<size_t>(at), scale.size() - 2);
  const double f = at - static_cast<double>(i);
  const auto mix = [f](double a, double b) {
    return static_cast<int>(std::lround(a + (b - a) * f));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(scale[i].r, scale[i + 1].r),
                     mix(scale[i].g, scale[i + 1].g), mix(scale[i].b, scale[i + 1].b));
}

int ShadeOf(double heat) {
  return static_cast<int>(std::lround(std::clamp(heat, 0.0, 1.0) * kShades));
}

// Colours of both schemes; the viewer of the picture chooses.
std::string Style() {
  const auto scheme = [](const Scale& scale, std::string_view ink, std::string_view ground,
                         std::string_view frame, std::string_view plot, std::string_view consumed,
                         std::string_view asked) {
    std::string css = fmt::format(
        "text{{fill:{}}}.ground{{fill:{}}}.frame{{stroke:{}}}.plot{{fill:{}}}.consumed{{stroke:{}}}"
        ".asked{{stroke:{}}}.capacity,.count{{stroke:{}}}.hatch{{fill:{}}}.mark{{fill:{};stroke:{}}"
        "}"
        ".name{{fill:{};stroke:{}}}",
        ink, ground, frame, plot, consumed, asked, ink, ink, ground, ink, ink, ground);
    for (int i = 0; i <= kShades; ++i)
      css += fmt::format(".h{}{{fill:{}}}", i, ColourOf(scale, static_cast<double>(i) / kShades));
    return css;
  };
  return "<style>" + scheme(kLight, "#222", "#fff", "#ccc", "#fafafa", "#2166ac", "#d33") +
         "@media (prefers-color-scheme:dark){" +
         scheme(kDark, "#ddd", "#12161c", "#444", "#181d24", "#6fb1ec", "#ff7b72") +
         "}.name{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}</style>\n";
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

// Draws the units of one kind over time: provisioned, consumed, and consumed plus refused.
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
  *out += fmt::format("<rect class=\"plot frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                      kLeft, top, kWidth, kChart);
  Lines(out, r, top, most, asked, "class=\"asked\" stroke-width=\"1\"");
  // On demand nothing is provisioned.
  if (std::any_of(r.columns.begin(), r.columns.end(),
                  [&](const Column& c) { return capacity(c) > 0; })) {
    Lines(out, r, top, most, capacity,
          "class=\"capacity\" stroke-width=\"1\" stroke-dasharray=\"4 3\"");
  }
  Lines(out, r, top, most, consumed, "class=\"consumed\" stroke-width=\"1.5\"");
  Text(out, kLeft - 6, top + 10, fmt::format("{:.0f}", most), " text-anchor=\"end\"");
  Text(out, kLeft - 6, top + kChart, "0", " text-anchor=\"end\"");
  Text(out, kLeft - 6, top + kChart / 2, writes ? "WCU" : "RCU", " text-anchor=\"end\"");
}

// The number of partitions over time.
void Counts(std::string* out, const HeatPanel& r, double top, int64_t most) {
  *out += fmt::format(
      "<rect class=\"plot frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n"
      "<polyline fill=\"none\" class=\"count\" stroke-width=\"1.5\" points=\"",
      kLeft, top, kWidth, kCounts);
  const double step = kWidth / static_cast<double>(r.columns.size());
  for (size_t i = 0; i < r.columns.size(); ++i) {
    const double y =
        top + kCounts -
        (kCounts - 3) * static_cast<double>(r.columns[i].partitions) / static_cast<double>(most);
    *out += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", kLeft + step * static_cast<double>(i), y,
                        kLeft + step * static_cast<double>(i + 1), y);
  }
  *out += "\"/>\n";
  Text(out, kLeft - 6, top + 12, fmt::format("{}", most), " text-anchor=\"end\"");
  Text(out, kLeft - 6, top + kCounts, "partitions", " text-anchor=\"end\"");
}

std::string NameOf(const Row& row) {
  const std::string range = throughput::RangeText(row.range);
  return row.partition == 0 ? range : fmt::format("partition {} ({})", row.partition, range);
}

// Labels that are written over the heat. No label lies on another one.
class Labels {
 public:
  // Keeps labels off a place whose middle is at `y`.
  void Take(double from, double to, double y) { taken_.push_back({from, to, y - 4, y + 4}); }
  // Writes at `x`, or as far behind it as there is room before `most`. False: there is none.
  bool Write(std::string* out, std::string_view text, double x, double most, double y) {
    const double width = kLetter * static_cast<double>(text.size());
    for (size_t tries = 0; tries <= taken_.size() && x < most && x + width < kLeft + kWidth;
         ++tries) {
      const Box* const other = Over({x, x + width, y - kAbove, y + kBelow});
      if (other == nullptr) {
        Put(out, text, {x, x + width, y - kAbove, y + kBelow}, "");
        return true;
      }
      x = other->right + kGap;
    }
    return false;
  }
  // Writes with the end of the text at `x`. False: there is no room.
  bool WriteLeft(std::string* out, std::string_view text, double x, double y) {
    const double width = kLetter * static_cast<double>(text.size());
    const Box box{x - width, x, y - kAbove, y + kBelow};
    if (box.left < kLeft || Over(box) != nullptr) return false;
    Put(out, text, box, " text-anchor=\"end\"");
    return true;
  }

 private:
  struct Box {
    double left, right, top, bottom;
  };
  static constexpr double kAbove = 8, kBelow = 2, kGap = 4;  // of the base line

  const Box* Over(const Box& box) const {
    for (const Box& other : taken_) {
      if (box.left < other.right && other.left < box.right && box.top < other.bottom &&
          other.top < box.bottom) {
        return &other;
      }
    }
    return nullptr;
  }
  void Put(std::string* out, std::string_view text, const Box& box, std::string_view anchor) {
    Text(out, anchor.empty() ? box.left : box.right, box.bottom - kBelow, text,
         fmt::format(" class=\"name\"{}", anchor));
    taken_.push_back(box);
  }

  std::vector<Box> taken_;
};

// Height of the drawn rows.
double Heat(std::string* out, const HeatPanel& r, double top) {
  // Very many partitions share a line, which shows the hottest of them.
  const size_t group = (r.rows.size() + kMostRows - 1) / kMostRows;
  const size_t lines = (r.rows.size() + group - 1) / group;
  const double height =
      std::clamp(kMost / static_cast<double>(lines), lines <= kNamedRows ? kNameHeight : 2.0, 24.0);
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
    // A column that throttled has a second in which the limit in force was reached, whatever its
    // average is.
    const auto shade_of = [&](size_t column) {
      return value(column, true) > 0 ? kShades : ShadeOf(value(column, false));
    };
    // Neighbours of one colour are one rectangle.
    for (size_t column = 0; column < r.columns.size();) {
      const int shade = shade_of(column);
      const int refused = static_cast<int>(std::ceil(value(column, true) * 4));
      size_t end = column + 1;
      while (end < r.columns.size() && shade_of(end) == shade &&
             static_cast<int>(std::ceil(value(end, true) * 4)) == refused) {
        ++end;
      }
      const double x = kLeft + step * static_cast<double>(column);
      const double width = step * static_cast<double>(end - column);
      *out += fmt::format(
          "<rect class=\"h{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\">"
          "<title>{}: {:.0f}% of what a partition can do on average, {:.0f}% of requests "
          "throttled{}</title></rect>\n",
          shade, x, y, width + 0.05, height + 0.05, Escaped(NameOf(r.rows[line * group])),
          100 * value(column, false), 100 * value(column, true),
          refused > 0 ? ": a limit was reached" : "");
      if (refused > 0) {
        *out += fmt::format(
            "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
            "fill=\"url(#refused{})\"/>\n",
            x, y, width, height, refused);
      }
      column = end;
    }
  }
  Labels labels;
  // Splits, where the halves meet; the reason is written at one of its kind that has room for it.
  std::set<throughput::SplitReason> told;
  for (size_t i = 0; i < r.marks.size() && i < kMostMarks; ++i) {
    const SplitMark& mark = r.marks[i];
    const double x = kLeft + step * static_cast<double>(std::min(mark.column, r.columns.size()));
    const double y = top + height * static_cast<double>(mark.row / group);
    const std::string_view reason = throughput::SplitReasonText(mark.reason);
    *out += fmt::format(
        "<path class=\"mark\" d=\"M{:.1f} {:.1f}l4 -4l4 4l-4 4z\"><title>split for "
        "{}</title></path>\n",
        x - 4, y, reason);
    labels.Take(x - 4, x + 4, y);
  }
  for (size_t i = 0; i < r.marks.size() && i < kMostMarks; ++i) {
    const SplitMark& mark = r.marks[i];
    if (told.contains(mark.reason)) continue;
    const double x = kLeft + step * static_cast<double>(std::min(mark.column, r.columns.size()));
    const double y = top + height * static_cast<double>(mark.row / group) + 4;
    const std::string text = fmt::format("split: {}", throughput::SplitReasonText(mark.reason));
    if (labels.Write(out, text, x + 7, kLeft + kWidth, y) ||
        labels.WriteLeft(out, text, x - 7, y)) {
      told.insert(mark.reason);
    }
  }
  // Names of keys on their hot bands, where they have room.
  for (size_t line = 0; line < lines; ++line) {
    const Row& row = r.rows[line * group];
    const Row* above = line > 0 ? &r.rows[(line - 1) * group] : nullptr;
    if (row.hottest.size() != r.columns.size()) break;
    for (size_t column = 0; column < r.columns.size();) {
      const auto hot = [&](size_t c) {
        return !row.hottest[c].empty() && row.hottest[c] == row.hottest[column] &&
               (row.heat[c] >= 0.5F || row.refused[c] > 0);
      };
      size_t end = column;
      while (end < r.columns.size() && hot(end)) ++end;
      // Rows of one partition are one band: the name is in its middle, and once.
      size_t last = line;
      while (end > column && last + 1 < lines &&
             r.rows[(last + 1) * group].hottest.size() == r.columns.size() &&
             r.rows[(last + 1) * group].hottest[column] == row.hottest[column]) {
        ++last;
      }
      const double middle = top + height * (static_cast<double>(line + last + 1) / 2);
      const double bottom = top + height * static_cast<double>(lines);
      const double y =
          std::max(top + kNameHeight - 3, std::min(middle + kNameDrop, bottom - kNameDrop / 2));
      const bool above_has =
          above != nullptr && end > column && row.hottest[column] == above->hottest[column];
      const size_t room = r.names_short ? 1 : std::min(kNameColumns, r.columns.size());
      if (!above_has && end - column >= room) {
        size_t bytes = std::min<size_t>(row.hottest[column].size(), kNameBytes);
        while (bytes > 0 && bytes < row.hottest[column].size() &&
               (static_cast<uint8_t>(row.hottest[column][bytes]) & 0xC0) == 0x80) {
          --bytes;  // in the middle of a character of UTF-8
        }
        const std::string name = row.hottest[column].substr(0, bytes);
        const double x = kLeft + step * static_cast<double>(column);
        const double most =
            r.names_short ? kLeft + kWidth : x + step * static_cast<double>(end - column);
        if (!labels.Write(out, name, x + 4, most, y) && r.names_short)
          labels.WriteLeft(out, name, x - 4, y);
      }
      column = std::max(end, column + 1);
    }
  }
  const double total = height * static_cast<double>(lines);
  *out += fmt::format(
      "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{:.1f}\" fill=\"none\"/>\n",
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
                              r.columns, r.rows, r.marks});
  }
  picture.times = TimesOf(s.duration_seconds);
  return HeatMap(picture);
}

std::array<std::string, 5> TimesOf(double seconds) {
  std::array<std::string, 5> times;
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = DurationText(seconds * static_cast<double>(i) / 4);
  return times;
}

std::string HeatMap(const HeatPicture& picture) {
  std::string body;
  double y = 30;
  Text(&body, 10, y, picture.title, " font-size=\"18\" font-weight=\"bold\"");
  if (!picture.description.empty()) Text(&body, 10, y += 20, picture.description);
  y += 22;
  // How to read it.
  double x = kLeft;
  Text(&body, 10, y, "of the limit:");
  for (int i = 0; i <= 4; ++i, x += 70) {
    body +=
        fmt::format("<rect class=\"frame h{}\" x=\"{}\" y=\"{}\" width=\"14\" height=\"12\"/>\n",
                    ShadeOf(i / 4.0), x, y - 10);
    Text(&body, x + 18, y, fmt::format("{}%", 25 * i));
  }
  body += fmt::format(
      "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"14\" height=\"12\" "
      "fill=\"url(#refused4)\"/>\n",
      x, y - 10);
  Text(&body, x + 18, y, "throttled");
  body += fmt::format("<path class=\"mark\" d=\"M{} {}l4 -4l4 4l-4 4z\"/>\n", x + 84, y - 4);
  Text(&body, x + 96, y, "split");
  Text(&body, x + 140, y, "lines: dashed provisioned, blue consumed, red asked for");
  y += 16;
  Text(&body, kLeft, y,
       "a column's colour: its average of what a partition can do, shades between included; the "
       "last one where it throttled, for a limit was reached then");
  for (const HeatPanel& r : picture.panels) {
    if (r.columns.empty()) continue;
    y += 34;
    Text(&body, 10, y, r.heading, " font-size=\"14\" font-weight=\"bold\"");
    if (!r.description.empty()) Text(&body, 10, y += 15, r.description);
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
    int64_t most = 0;
    for (const Column& c : r.columns) most = std::max(most, c.partitions);
    if (most > 1) {
      Counts(&body, r, y, most);
      y += kCounts + 8;
    }
    y += Heat(&body, r, y) + 16;
    const std::array<std::string, 5>& times = r.times[0].empty() ? picture.times : r.times;
    for (size_t i = 0; i < times.size(); ++i) {
      Text(&body, kLeft + kWidth * static_cast<double>(i) / 4, y, times[i],
           " text-anchor=\"middle\"");
    }
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" viewBox=\"0 0 "
      "{0} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n",
      kLeft + kWidth + 30, y + 20);
  svg += Style() + "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n<defs>\n";
  for (int i = 1; i <= 4; ++i) {
    svg += fmt::format(
        "<pattern id=\"refused{}\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect class=\"hatch\" width=\"{:.1f}\" height=\"4\" "
        "fill-opacity=\"0.75\"/></pattern>\n",
        i, 0.5 * i);
  }
  return svg + "</defs>\n" + body + "</svg>\n";
}

}  // namespace stator::simulate

// The bytes of a heat history: the grammar stands in heat_history.h.
#include <algorithm>

#include "throughput/heat_history.h"
#include "throughput/number_codec.h"

namespace stator::throughput {
namespace {

constexpr std::string_view kMagic = "HH";
constexpr char kVersion = 1;
// The maximum of a count in a slot. No count of a real history exceeds it, and sums of such counts
// do not overflow.
constexpr uint64_t kMost = uint64_t{1} << 50;
constexpr uint64_t kLastMicros = uint64_t{1} << 62;

Error Damaged() { return CorruptionError("a heat history is cut short or damaged"); }

}  // namespace

std::string HeatHistory::Encode() const {
  std::vector<const Layout*> layouts;
  std::map<const Layout*, size_t> numbers;
  for (const std::deque<Slot>& slots : tiers_) {
    for (const Slot& slot : slots) {
      if (numbers.emplace(slot.layout.get(), layouts.size()).second)
        layouts.push_back(slot.layout.get());
    }
  }
  std::string out(kMagic);
  out.push_back(kVersion);
  AppendNumber(&out, recorded_micros_ + 1);
  AppendNumber(&out, layouts.size());
  for (const Layout* layout : layouts) {
    AppendNumber(&out, layout->from.size());
    for (size_t i = 0; i < layout->from.size(); ++i) {
      AppendNumber(&out, uint64_t{layout->partitions[i]});
      AppendNumber(&out, layout->from[i].hash);
      AppendNumber(&out, layout->from[i].sort.size());
      out += layout->from[i].sort;
    }
  }
  AppendNumber(&out, tiers_.size());
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    const int64_t seconds = settings_.tiers[tier].seconds;
    AppendNumber(&out, seconds);
    AppendNumber(&out, tiers_[tier].size());
    for (const Slot& slot : tiers_[tier]) {
      AppendNumber(&out, slot.start / seconds);
      AppendNumber(&out, numbers.at(slot.layout.get()));
      AppendNumber(&out, slot.cells.size());
      for (const Cell& cell : slot.cells) {
        AppendNumber(&out, uint64_t{cell.range});
        for (const int64_t units : {cell.units.read, cell.units.write, cell.units.refused_read,
                                    cell.units.refused_write}) {
          AppendNumber(&out, units);
        }
      }
    }
  }
  AppendCheck(&out);
  return out;
}

Result<HeatHistory> HeatHistory::Decode(std::string_view bytes, Settings settings) {
  if (bytes.size() < kMagic.size() + 1 + kCheckBytes || !bytes.starts_with(kMagic))
    return CorruptionError("the bytes are no heat history");
  if (bytes[kMagic.size()] != kVersion) {
    return CorruptionError("a heat history is of version " +
                           std::to_string(static_cast<uint8_t>(bytes[kMagic.size()])) +
                           ", which this program does not know");
  }
  const std::optional<std::string_view> body = WithoutCheck(bytes);
  if (!body) return Damaged();
  NumberReader in(body->substr(kMagic.size() + 1));

  HeatHistory history(std::move(settings));
  const Settings& s = history.settings_;
  history.recorded_micros_ = static_cast<int64_t>(in.Number(kLastMicros)) - 1;
  // A layout has at least four bytes, so damaged counts end the loops early.
  std::vector<std::shared_ptr<const Layout>> layouts;
  for (uint64_t left = in.Number(); left > 0 && in.ok(); --left) {
    auto layout = std::make_shared<Layout>();
    const uint64_t ranges = in.Number(s.most_ranges);
    in.Require(ranges > 0);
    for (uint64_t i = 0; i < ranges && in.ok(); ++i) {
      layout->partitions.push_back(static_cast<uint32_t>(in.Number(UINT32_MAX)));
      in.Require(layout->partitions.back() > 0);
      KeyBound bound{in.Number(), {}};
      bound.sort = in.Text(kMostSortBytes);
      in.Require(i == 0 ? bound == KeyBound() : bound > layout->from.back());
      layout->from.push_back(std::move(bound));
    }
    layouts.push_back(std::move(layout));
  }
  for (uint64_t left = in.Number(); left > 0 && in.ok(); --left) {
    const int64_t seconds = in.Whole(kMost);
    in.Require(seconds > 0);
    const auto known = std::ranges::find(s.tiers, seconds, &Tier::seconds);
    std::deque<Slot> slots;
    int64_t number_before = -1;
    for (uint64_t count = in.Number(); count > 0 && in.ok(); --count) {
      Slot slot;
      const int64_t number = in.Whole(kMost);
      const uint64_t layout = in.Number();
      in.Require(number > number_before && layout < layouts.size() &&
                 number <= static_cast<int64_t>(kMost) / seconds);
      if (!in.ok()) break;
      number_before = number;
      slot.start = number * seconds;
      slot.layout = layouts[layout];
      const size_t ranges = slot.layout->from.size();
      int64_t range_before = -1;
      for (uint64_t cells = in.Number(ranges); cells > 0 && in.ok(); --cells) {
        Cell cell;
        cell.range = static_cast<uint32_t>(in.Number(ranges - 1));
        in.Require(static_cast<int64_t>(cell.range) > range_before);
        range_before = cell.range;
        for (int64_t* units : {&cell.units.read, &cell.units.write, &cell.units.refused_read,
                               &cell.units.refused_write}) {
          *units = in.Whole(kMost);
        }
        slot.cells.push_back(cell);
      }
      if (known == s.tiers.end()) continue;
      slots.push_back(std::move(slot));
      while (slots.front().start <= slots.back().start - known->slots * seconds) slots.pop_front();
    }
    if (known == s.tiers.end() || slots.empty()) continue;
    const size_t tier = static_cast<size_t>(known - s.tiers.begin());
    history.kept_since_[tier] =
        std::max<int64_t>(0, slots.back().start - (known->slots - 1) * seconds);
    history.tiers_[tier] = std::move(slots);
  }
  if (!in.AtEnd()) return Damaged();
  // Until the first Record, the ranges of now are those of the last slot.
  for (const std::deque<Slot>& slots : history.tiers_) {
    if (slots.empty()) continue;
    history.layout_ = slots.back().layout;
    break;
  }
  return history;
}

}  // namespace stator::throughput

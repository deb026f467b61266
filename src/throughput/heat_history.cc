#include "throughput/heat_history.h"

#include <algorithm>
#include <cmath>

#include "throughput/resource.h"

namespace stator::throughput {
namespace {

constexpr int64_t kMicros = 1'000'000;

int64_t SecondOf(int64_t micros) { return std::max<int64_t>(0, micros) / kMicros; }

// Which part of the range lies before the bound, by the hash space.
double PartBefore(const KeyRange& range, const KeyBound& bound) {
  if (bound <= range.from) return 0;
  if (!range.to_end && bound >= range.to) return 1;
  const double width = range.HashShare();
  if (width <= 0) return 0.5;
  return std::clamp(KeyRange{range.from, bound, false}.HashShare() / width, 0.0, 1.0);
}

int64_t PartOf(int64_t halves, double part) {
  return part >= 1 ? halves : static_cast<int64_t>(static_cast<double>(halves) * part);
}
// Rounded, so that neighbouring parts add up to the whole.
HeatUnits UnitsBetween(const HeatUnits& units, double from, double to) {
  const auto between = [from, to](int64_t halves) {
    return PartOf(halves, to) - PartOf(halves, from);
  };
  return {between(units.read), between(units.write), between(units.refused_read),
          between(units.refused_write)};
}

bool AnyNegative(const HeatUnits& u) {
  return u.read < 0 || u.write < 0 || u.refused_read < 0 || u.refused_write < 0;
}

int64_t HalvesOf(double units) { return std::llround(units * 2); }

PartitionCount CountOf(const PartitionView& view, bool retired) {
  return {view.id,
          view.range,
          retired,
          {HalvesOf(view.consumed.read), HalvesOf(view.consumed.write), HalvesOf(view.refused.read),
           HalvesOf(view.refused.write)}};
}

// Divides `weights` into at most `most` runs of neighbours, so that the heaviest run is as light as
// possible. Returns the lengths of the runs.
std::vector<size_t> Runs(const std::vector<double>& weights, size_t most) {
  const auto pack = [&weights](double limit, std::vector<size_t>* runs) {
    size_t count = 0;
    double sum = 0;
    for (const double weight : weights) {
      if (count == 0 || sum + weight > limit) {
        ++count;
        sum = 0;
        if (runs != nullptr) runs->push_back(0);
      }
      sum += weight;
      if (runs != nullptr) ++runs->back();
    }
    return count;
  };
  double low = 0;
  double high = 0;
  for (const double weight : weights) high += weight;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (pack(middle, nullptr) <= most ? high : low) = middle;
  }
  std::vector<size_t> runs;
  // `high` was the sum or packed well; the sum may be off by rounding, so one run is always right.
  if (pack(high, nullptr) <= most) {
    pack(high, &runs);
  } else {
    runs.push_back(weights.size());
  }
  return runs;
}

}  // namespace

HeatUnits& HeatUnits::operator+=(const HeatUnits& other) {
  read += other.read;
  write += other.write;
  refused_read += other.refused_read;
  refused_write += other.refused_write;
  return *this;
}

HeatUnits HeatUnits::operator-(const HeatUnits& other) const {
  return {read - other.read, write - other.write, refused_read - other.refused_read,
          refused_write - other.refused_write};
}

std::vector<PartitionCount> CountsOf(const Resource& resource) {
  std::vector<PartitionCount> counts;
  std::vector<PartitionView> retired;
  for (const PartitionView& view : resource.Partitions(&retired))
    counts.push_back(CountOf(view, false));
  for (const PartitionView& view : retired) counts.push_back(CountOf(view, true));
  return counts;
}

// ---- slots

KeyRange HeatHistory::Layout::RangeOf(size_t index) const {
  if (index + 1 == from.size()) return {from[index], {}, true};
  return {from[index], from[index + 1], false};
}

size_t HeatHistory::Layout::Find(const KeyBound& bound) const {
  const auto after = std::upper_bound(from.begin(), from.end(), bound);
  return after == from.begin() ? 0 : static_cast<size_t>(after - from.begin()) - 1;
}

void HeatHistory::Slot::Add(const KeyRange& range, const HeatUnits& units) {
  const size_t first = layout->Find(range.from);
  double before = 0;
  for (size_t i = first; i < layout->from.size(); ++i) {
    // A partition that was split in the meantime may reach into several ranges.
    const KeyRange own = layout->RangeOf(i);
    const double until = own.to_end ? 1 : PartBefore(range, own.to);
    AddTo(i, UnitsBetween(units, before, until));
    before = until;
    if (until >= 1) return;
  }
}

void HeatHistory::Slot::AddTo(size_t index, const HeatUnits& units) {
  if (!units.any()) return;
  const auto at = std::ranges::lower_bound(cells, index, {}, &Cell::range);
  if (at != cells.end() && at->range == index) {
    at->units += units;
  } else {
    cells.insert(at, {static_cast<uint32_t>(index), units});
  }
}

HeatHistory::HeatHistory(Settings settings)
    : settings_(std::move(settings)),
      tiers_(settings_.tiers.size()),
      kept_since_(settings_.tiers.size()) {}

HeatHistory::Slot& HeatHistory::SlotAt(size_t tier, int64_t second) {
  const Tier& t = settings_.tiers[tier];
  std::deque<Slot>& slots = tiers_[tier];
  const int64_t start = second - second % t.seconds;
  if (slots.empty() || slots.back().start < start) {
    slots.push_back({start, layout_, {}});
    const int64_t oldest = start - (t.slots - 1) * t.seconds;
    kept_since_[tier] = std::max(kept_since_[tier], oldest);
    while (slots.front().start < oldest) slots.pop_front();
  }
  return slots.back();
}

void HeatHistory::AddAt(int64_t second, const KeyRange& range, const HeatUnits& units) {
  if (!units.any()) return;
  for (size_t tier = 0; tier < tiers_.size(); ++tier) SlotAt(tier, second).Add(range, units);
}

// ---- recording

void HeatHistory::FollowClock(int64_t now_micros) {
  if (recorded_micros_ < 0) recorded_micros_ = now_micros;
  if (now_micros >= recorded_micros_) return;
  recorded_micros_ = now_micros;
  const int64_t now = SecondOf(now_micros);
  for (size_t tier = 0; tier < tiers_.size(); ++tier) {
    std::deque<Slot>& slots = tiers_[tier];
    while (!slots.empty() && slots.back().start > now) slots.pop_back();
    // From now on all are kept again.
    kept_since_[tier] = std::min(kept_since_[tier], now + 1);
  }
}

void HeatHistory::ChooseLayout(std::span<const PartitionCount> counts) {
  std::vector<const PartitionCount*> current;
  for (const PartitionCount& count : counts) {
    if (!count.retired && count.range.from.sort.size() <= kMostSortBytes) current.push_back(&count);
  }
  if (current.empty()) return;
  std::ranges::sort(current, {}, [](const PartitionCount* c) { return c->range.from; });
  std::vector<uint64_t> ids;
  for (const PartitionCount* count : current) ids.push_back(count->partition);
  if (ids == ids_) return;

  std::vector<double> weights;
  for (const PartitionCount* count : current) {
    // One more, so that ranges without heat are not all one.
    weights.push_back(static_cast<double>(1 + count->units.consumed() + count->units.refused()));
  }
  std::vector<size_t> runs(current.size(), 1);
  if (current.size() > settings_.most_ranges) runs = Runs(weights, settings_.most_ranges);
  auto layout = std::make_shared<Layout>();
  size_t at = 0;
  for (const size_t run : runs) {
    layout->from.push_back(at == 0 ? KeyBound() : current[at]->range.from);
    layout->partitions.push_back(static_cast<uint32_t>(run));
    at += run;
  }
  layout_ = std::move(layout);
  ids_ = std::move(ids);
}

void HeatHistory::Record(int64_t now_micros, std::span<const PartitionCount> counts) {
  FollowClock(now_micros);
  ChooseLayout(counts);
  struct Delta {
    const KeyRange* range;
    HeatUnits units;
  };
  std::vector<Delta> deltas;
  std::map<uint64_t, HeatUnits> seen;
  for (const PartitionCount& count : counts) {
    const auto before = seen_.find(count.partition);
    HeatUnits units = before == seen_.end() ? count.units : count.units - before->second;
    // Fewer than before: a new resource of that name.
    if (AnyNegative(units)) units = count.units;
    if (units.any()) deltas.push_back({&count.range, units});
    seen.emplace(count.partition, count.units);
  }
  seen_ = std::move(seen);
  const int64_t from = recorded_micros_;
  recorded_micros_ = now_micros;
  if (deltas.empty() || layout_ == nullptr) return;

  const int64_t length = now_micros - from;
  if (length <= 0 || length > settings_.spread_micros) {
    for (const Delta& delta : deltas) AddAt(SecondOf(from), *delta.range, delta.units);
    return;
  }
  double before = 0;
  for (int64_t at = from; at < now_micros;) {
    const int64_t second = SecondOf(at);
    const int64_t end = std::min(now_micros, (second + 1) * kMicros);
    const double until =
        end == now_micros ? 1 : static_cast<double>(end - from) / static_cast<double>(length);
    for (const Delta& delta : deltas)
      AddAt(second, *delta.range, UnitsBetween(delta.units, before, until));
    before = until;
    at = end;
  }
}

void HeatHistory::RecordIdle(int64_t now_micros) {
  FollowClock(now_micros);
  recorded_micros_ = now_micros;
}

// ---- looking

int64_t HeatHistory::RetentionSeconds() const {
  const Tier& last = settings_.tiers.back();
  return last.seconds * last.slots;
}

size_t HeatHistory::TierFor(int64_t from_seconds, int64_t now) const {
  size_t tier = 0;
  for (; tier + 1 < tiers_.size(); ++tier) {
    const Tier& t = settings_.tiers[tier];
    // Without anything new, old slots are still there; that is no reason to have columns of
    // seconds.
    const int64_t reach = now - now % t.seconds - (t.slots - 1) * t.seconds;
    if (std::max(reach, kept_since_[tier]) <= from_seconds) break;
  }
  return tier;
}

HeatMap HeatHistory::Map(const Window& window) const {
  HeatMap map;
  map.rows = window.rows;
  if (map.rows.empty() && layout_ != nullptr) {
    for (size_t i = 0; i < layout_->from.size(); ++i) map.rows.push_back(layout_->RangeOf(i));
  }
  if (map.rows.empty()) map.rows.push_back({{}, {}, true});

  const int64_t now_micros = std::max(recorded_micros_, window.now_micros);
  const int64_t now = SecondOf(now_micros);
  int64_t from = std::max(SecondOf(window.from_micros), now - RetentionSeconds());
  const int64_t end = std::max<int64_t>(0, window.to_micros);
  const int64_t to =
      std::min(end / kMicros + (end % kMicros == 0 ? 0 : 1), std::max(now, from) + 1);
  const size_t tier = TierFor(from, now);
  const int64_t unit = settings_.tiers[tier].seconds;
  from -= from % unit;
  const int64_t length = std::max<int64_t>(1, to - from);
  int64_t step = std::max({window.step_seconds, unit, (length + kMostColumns - 1) / kMostColumns});
  step = (step + unit - 1) / unit * unit;
  map.from_seconds = from;
  map.column_seconds = step;
  const int64_t columns = (length + step - 1) / step;
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t begins = std::max((from + i * step) * kMicros, window.born_micros);
    const int64_t ends = std::min((from + (i + 1) * step) * kMicros, now_micros);
    map.covered_seconds.push_back(
        std::clamp(static_cast<double>(ends - begins) / kMicros, 1.0, static_cast<double>(step)));
  }
  map.cells.assign(map.rows.size(), std::vector<HeatMap::Cell>(static_cast<size_t>(columns)));
  for (const Slot& slot : tiers_[tier]) {
    if (slot.start < from) continue;
    const int64_t column = (slot.start - from) / step;
    if (column >= columns) break;
    AddToMap(slot, static_cast<size_t>(column), &map);
  }
  for (std::vector<HeatMap::Cell>& row : map.cells) {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i].read_load /= 2 * map.covered_seconds[i];
      row[i].write_load /= 2 * map.covered_seconds[i];
    }
  }
  return map;
}

// Loads are added up in halves.
void HeatHistory::AddToMap(const Slot& slot, size_t column, HeatMap* map) {
  std::vector<double> read_load(map->rows.size());
  std::vector<double> write_load(map->rows.size());
  size_t row = 0;
  for (const Cell& cell : slot.cells) {
    const KeyRange range = slot.layout->RangeOf(cell.range);
    const double partitions = slot.layout->partitions[cell.range];
    // Rows that end before the range are behind; the one it ends in may have the next range too.
    while (row < map->rows.size() && !map->rows[row].to_end && map->rows[row].to <= range.from)
      ++row;
    for (size_t i = row; i < map->rows.size(); ++i) {
      const KeyRange& own = map->rows[i];
      if (!range.to_end && own.from >= range.to) break;
      const double from = PartBefore(range, own.from);
      const double to = own.to_end ? 1 : PartBefore(range, own.to);
      map->cells[i][column].units += UnitsBetween(cell.units, from, to);
      read_load[i] = std::max(read_load[i], static_cast<double>(cell.units.read) / partitions);
      write_load[i] = std::max(write_load[i], static_cast<double>(cell.units.write) / partitions);
    }
  }
  for (size_t i = 0; i < map->rows.size(); ++i) {
    map->cells[i][column].read_load += read_load[i];
    map->cells[i][column].write_load += write_load[i];
  }
}

size_t HeatHistory::Bytes() const {
  size_t bytes = sizeof(*this);
  const Layout* last = nullptr;
  for (const std::deque<Slot>& slots : tiers_) {
    for (const Slot& slot : slots) {
      bytes += sizeof(Slot) + slot.cells.capacity() * sizeof(Cell);
      if (slot.layout.get() == last) continue;
      last = slot.layout.get();
      bytes += sizeof(Layout);
      for (const KeyBound& bound : last->from)
        bytes += sizeof(KeyBound) + sizeof(uint32_t) + bound.sort.capacity();
    }
  }
  return bytes;
}

size_t HeatHistory::SlotBytes() const {
  size_t slots = 0;
  for (const std::deque<Slot>& tier : tiers_) slots += tier.size();
  const size_t ranges = layout_ == nullptr ? 1 : layout_->from.size();
  return slots * (sizeof(Slot) + ranges * sizeof(Cell));
}

bool HeatHistory::Thin(size_t least) {
  const auto longest = std::ranges::max_element(tiers_, {}, &std::deque<Slot>::size);
  if (longest == tiers_.end() || longest->size() <= least) return false;
  longest->erase(longest->begin(),
                 longest->begin() + static_cast<ptrdiff_t>((longest->size() + 1) / 2));
  const auto tier = static_cast<size_t>(longest - tiers_.begin());
  if (!longest->empty()) kept_since_[tier] = std::max(kept_since_[tier], longest->front().start);
  return true;
}

size_t HeatHistory::MostBytes(const Settings& settings) {
  // Vectors that grow have at most twice the room.
  const size_t range = 2 * (sizeof(Cell) + sizeof(KeyBound) + sizeof(uint32_t) + kMostSortBytes);
  size_t slots = 0;
  for (const Tier& tier : settings.tiers) slots += static_cast<size_t>(tier.slots);
  return sizeof(HeatHistory) +
         slots * (sizeof(Slot) + sizeof(Layout) + settings.most_ranges * range);
}

}  // namespace stator::throughput

#include "simulate/run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "simulate/key_stream.h"

namespace stator::simulate {
namespace {

using throughput::Access;
using throughput::Draw;
using throughput::Limit;
using throughput::Rates;
using throughput::Resource;
using throughput::Verdict;

constexpr int64_t kMinuteMicros = 60'000'000;
constexpr size_t kTurnsUntilLook = 1024;  // of the requests of a step
constexpr int64_t kHourMicros = 60 * kMinuteMicros;

int64_t MicrosOf(double seconds) { return std::llround(seconds * 1e6); }

double& Of(Rates* rates, Access access) {
  return access == Access::kRead ? rates->read : rates->write;
}

// A table or an index with what is recorded of it.
class SimulatedResource {
 public:
  SimulatedResource(const Scenario& scenario, const throughput::ResourceDefinition& definition,
                    const throughput::ModelSettings& model, const std::string& table,
                    const AutoScaling& scaling, const std::vector<CapacityChange>& changes)
      : scenario_(scenario),
        changes_(changes),
        resource_(model, definition, scenario.start_micros) {
    out_.name = definition.name;
    out_.table = table;
    out_.is_index = definition.is_index;
    out_.partitions_before = resource_.partition_count();
    out_.lowest_capacity = out_.highest_capacity = resource_.provisioned();
    if (scaling.read) policies_[0] = throughput::AutoScalingPolicy(*scaling.read);
    if (scaling.write) policies_[1] = throughput::AutoScalingPolicy(*scaling.write);
    for (const throughput::PartitionView& p : resource_.Partitions()) order_.push_back(p.id);
  }

  Resource& resource() { return resource_; }

  // What the scenario changes at or before a time.
  void Change(double now_seconds, int64_t now) {
    while (next_change_ < changes_.size() && changes_[next_change_].at_seconds <= now_seconds) {
      const CapacityChange& change = changes_[next_change_++];
      KeepWorst(now);
      const throughput::Billing billing = change.billing.value_or(resource_.billing());
      Rates units = resource_.billing() == throughput::Billing::kProvisioned
                        ? resource_.provisioned()
                        : Rates{1, 1};
      units = {change.read.value_or(units.read), change.write.value_or(units.write)};
      if (billing == throughput::Billing::kOnDemand) {
        if (resource_.billing() != billing) Record(resource_.SwitchToOnDemand(now));
      } else if (resource_.billing() != billing) {
        Record(resource_.SwitchToProvisioned(now, units));
      } else {
        Provision(units, now);
      }
      if (change.warm) {
        const Rates ready = resource_.warm();
        auto events = resource_.SetWarm(now, {std::max(ready.read, change.warm->read),
                                              std::max(ready.write, change.warm->write)});
        if (events.ok()) Record(*events);
      }
      ++out_.capacity_changes;
    }
  }

  void Count(const Draw& draw, int64_t passed, int64_t refused, const Verdict& verdict) {
    const double units = throughput::HalvesToUnits(draw.halves);
    Cell& cell = cells_[resource_.PartitionOf(draw.point)];
    const size_t a = static_cast<size_t>(draw.access);
    const double most =
        a == 0 ? scenario_.model.partition_read_units : scenario_.model.partition_write_units;
    cell.consumed[a] += static_cast<double>(passed) * units;
    cell.asked += static_cast<double>(passed + refused) * units / most;
    cell.refused += static_cast<double>(refused) * units / most;
    // A vote that a key with more than half of the weight wins.
    const double vote = static_cast<double>(passed + refused) * units / most;
    if (cell.key == draw.point.partition) {
      cell.votes += vote;
    } else if (cell.votes >= vote) {
      cell.votes -= vote;
    } else {
      cell.key = draw.point.partition;
      cell.votes = vote - cell.votes;
    }
    Of(&column_.refused, draw.access) += static_cast<double>(refused) * units;
    if (refused == 0) return;
    troubles_[{draw.access, verdict.limit}].requests += refused;
  }

  // Items that time to live deletes at a time, free of units. Kept by hours and by 256ths of the
  // hash space, so that a month of them is bounded.
  void Expire(int64_t at, const throughput::KeyPoint& point, int64_t bytes, int64_t items) {
    Doomed& doomed = doomed_[at / kHourMicros][static_cast<size_t>(point.hash >> 56)];
    doomed.bytes += bytes * items;
    doomed.items += items;
  }

  // Deletes remove no more than there is.
  void Remove(const throughput::KeyPoint& point, int64_t bytes, int64_t items) {
    const uint64_t id = resource_.PartitionOf(point);
    int64_t& left = bytes_left_[id];
    if (left == 0) {
      for (const throughput::PartitionView& p : resource_.Partitions()) bytes_left_[p.id] = p.bytes;
    }
    const int64_t removed = std::min(bytes * items, bytes_left_[id]);
    bytes_left_[id] -= removed;
    resource_.AddBytes(point, -removed, -items);
  }

  // The end of a step.
  void Step(int64_t now, double step_seconds) {
    bytes_left_.clear();
    while (!doomed_.empty() && (doomed_.begin()->first + 1) * kHourMicros <= now) {
      for (size_t slice = 0; slice < kSlices; ++slice) {
        const Doomed& doomed = doomed_.begin()->second[slice];
        if (doomed.items == 0) continue;
        resource_.AddBytes({static_cast<uint64_t>(slice) << 56, {}, {}}, -doomed.bytes,
                           -doomed.items);
        out_.expired += doomed.items;
      }
      doomed_.erase(doomed_.begin());
    }
    Record(resource_.Advance(now));
    const Rates capacity = resource_.provisioned();
    capacity_sum_.read += capacity.read * step_seconds;
    capacity_sum_.write += capacity.write * step_seconds;
    column_.capacity.read += capacity.read * step_seconds;
    column_.capacity.write += capacity.write * step_seconds;
    if (now - minute_start_ >= kMinuteMicros || minute_start_ == 0) Minute(now);
  }

  void EndColumn(double seconds) {
    const Rates consumed = resource_.consumed();
    column_.consumed = {(consumed.read - consumed_.read) / seconds,
                        (consumed.write - consumed_.write) / seconds};
    consumed_ = consumed;
    for (Rates* rates : {&column_.capacity, &column_.refused}) {
      rates->read /= seconds;
      rates->write /= seconds;
    }
    column_.partitions = static_cast<int64_t>(resource_.partition_count());
    out_.peak = {std::max(out_.peak.read, column_.consumed.read),
                 std::max(out_.peak.write, column_.consumed.write)};
    out_.columns.push_back(std::exchange(column_, {}));
    std::unordered_map<uint64_t, Rates> shares;
    for (const throughput::PartitionView& p : resource_.Partitions()) shares[p.id] = p.share;
    for (auto& [id, cell] : cells_) {
      double heat = 0;
      for (const Access access : {Access::kRead, Access::kWrite}) {
        double most = access == Access::kRead ? scenario_.model.partition_read_units
                                              : scenario_.model.partition_write_units;
        // Where shares are fixed a partition is hot that has used up its own.
        if (scenario_.model.adaptive == throughput::Adaptive::kOff && shares.contains(id) &&
            resource_.billing() == throughput::Billing::kProvisioned) {
          most = std::min(most, std::max(shares[id].Of(access), 1e-3));
        }
        heat = std::max(heat, cell.consumed[static_cast<size_t>(access)] / seconds / most);
      }
      const bool led = cell.votes > 0.2 * cell.asked;
      history_[id].push_back({out_.columns.size() - 1, static_cast<float>(heat),
                              static_cast<float>(cell.asked > 0 ? cell.refused / cell.asked : 0),
                              led ? cell.key : std::string()});
    }
    cells_.clear();
  }

  ResourceOutcome Finish(int64_t now, double duration_seconds) {
    out_.billing = resource_.billing();
    out_.partitions = resource_.Partitions();
    out_.partitions_after = out_.partitions.size();
    out_.consumed = resource_.consumed();
    out_.average_capacity = {capacity_sum_.read / duration_seconds,
                             capacity_sum_.write / duration_seconds};
    for (const throughput::PartitionView& p : out_.partitions) out_.bytes += p.bytes;
    KeepWorst(now + 1'000'000);  // the last second is over, too
    for (auto& [key, trouble] : troubles_) {
      trouble.at_seconds =
          static_cast<double>(trouble.explanation.at_micros - scenario_.start_micros) / 1e6;
      out_.troubles.push_back(std::move(trouble));
    }
    std::stable_sort(out_.troubles.begin(), out_.troubles.end(),
                     [](const Trouble& a, const Trouble& b) { return a.requests > b.requests; });
    const double total = resource_.ObservedWeight();
    for (const throughput::HeavyKey& key :
         resource_.Hottest(throughput::HeavyHitters::Of::kCollections, 5)) {
      const double share = total > 0 ? (key.weight - key.overestimate) / total : 0;
      if (share >= 0.005) out_.hottest.push_back({key.partition, share});
    }
    MakeRows();
    return std::move(out_);
  }

 private:
  struct Cell {
    double consumed[2] = {0, 0};  // units
    double asked = 0;             // in maxima of a partition, times seconds
    double refused = 0;
    std::string key;
    double votes = 0;
  };
  struct Past {
    size_t column;
    float heat;
    float refused;
    std::string key;
  };
  // Keeps the worst second of each limit that refused, whatever capacity there was; the first of
  // equal ones, as it is known by now.
  void KeepWorst(int64_t now) {
    for (auto& [key, trouble] : troubles_) {
      const auto ratio = [](const throughput::Explanation& e) {
        return e.limit > 0 ? e.demand / e.limit : 0;
      };
      auto worst = resource_.Worst(now, key.first, key.second);
      if (!worst) continue;
      const throughput::Explanation& known = trouble.explanation;
      if (ratio(*worst) > ratio(known) || known.cause.empty() ||
          (ratio(*worst) == ratio(known) && worst->at_micros == known.at_micros)) {
        trouble.explanation = std::move(*worst);
      }
    }
  }

  void Provision(const Rates& units, int64_t now) {
    const Rates before = resource_.provisioned();
    if (units == before) return;
    KeepWorst(now + 1'000'000);  // with this capacity its second is over
    if (throughput::IsDecrease(before, units)) {
      if (!throughput::MayDecrease(resource_.settings(), decreases_, now)) ++out_.refused_decreases;
      throughput::CountDecrease(&decreases_, now);
    }
    Record(resource_.SetProvisioned(now, units));
    out_.lowest_capacity = {std::min(out_.lowest_capacity.read, units.read),
                            std::min(out_.lowest_capacity.write, units.write)};
    out_.highest_capacity = {std::max(out_.highest_capacity.read, units.read),
                             std::max(out_.highest_capacity.write, units.write)};
  }

  // Auto scaling sees the average of each minute.
  void Minute(int64_t now) {
    const double seconds = static_cast<double>(now - minute_start_) / 1e6;
    const Rates consumed = resource_.consumed();
    const Rates used{(consumed.read - minute_consumed_.read) / seconds,
                     (consumed.write - minute_consumed_.write) / seconds};
    const bool first = minute_start_ == 0;
    minute_start_ = now;
    minute_consumed_ = consumed;
    if (first || resource_.billing() != throughput::Billing::kProvisioned) return;
    Rates units = resource_.provisioned();
    const Rates before = units;
    for (size_t a = 0; a < 2; ++a) {
      if (!policies_[a]) continue;
      const Access access = static_cast<Access>(a);
      if (const auto next = policies_[a]->OnMinute(now, used.Of(access), before.Of(access),
                                                   decreases_, resource_.settings())) {
        Of(&units, access) = *next;
      }
    }
    if (units == before) return;
    ++out_.capacity_changes;
    Provision(units, now);
  }

  void Record(const std::vector<throughput::SplitEvent>& events) {
    for (const throughput::SplitEvent& event : events) {
      ++out_.splits[std::string(throughput::SplitReasonText(event.reason))];
      children_[event.parent] = {event.left, event.right, out_.columns.size(), event.reason};
    }
  }

  // Makes the rows of the heat map, one for each final partition. A row shows also the past of the
  // partitions from which its partition was split.
  void MakeRows() {
    std::unordered_map<uint64_t, size_t> row_of;
    for (const throughput::PartitionView& p : out_.partitions) {
      row_of[p.id] = out_.rows.size();
      out_.rows.push_back({p.id, p.range, std::vector<float>(out_.columns.size()),
                           std::vector<float>(out_.columns.size()),
                           std::vector<std::string>(out_.columns.size())});
    }
    const auto lay = [&](uint64_t id, const auto& self) -> std::pair<size_t, size_t> {
      std::pair<size_t, size_t> rows;
      if (const auto split = children_.find(id); split != children_.end()) {
        const Children& children = split->second;
        const auto left = self(children.left, self);
        rows = {left.first, self(children.right, self).second};
        out_.marks.push_back({children.column, left.second, children.reason});
      } else {
        rows = {row_of.at(id), row_of.at(id) + 1};
      }
      for (const Past& past : history_[id]) {
        for (size_t r = rows.first; r < rows.second; ++r) {
          out_.rows[r].heat[past.column] += past.heat;
          out_.rows[r].refused[past.column] =
              std::max(out_.rows[r].refused[past.column], past.refused);
          out_.rows[r].hottest[past.column] = past.key;
        }
      }
      return rows;
    };
    for (const uint64_t id : order_) lay(id, lay);
  }

  static constexpr size_t kSlices = 256;
  struct Doomed {
    int64_t bytes = 0;
    int64_t items = 0;
  };

  const Scenario& scenario_;
  const std::vector<CapacityChange>& changes_;
  std::map<int64_t, std::array<Doomed, kSlices>> doomed_;  // by the hour
  std::unordered_map<uint64_t, int64_t> bytes_left_;       // of partitions, this step
  Resource resource_;
  ResourceOutcome out_;
  std::optional<throughput::AutoScalingPolicy> policies_[2];
  throughput::DecreaseHistory decreases_;
  size_t next_change_ = 0;
  std::vector<uint64_t> order_;  // partitions at the start
  struct Children {
    uint64_t left;
    uint64_t right;
    size_t column;  // in which they came to be
    throughput::SplitReason reason;
  };
  std::unordered_map<uint64_t, Children> children_;
  std::map<uint64_t, Cell> cells_;
  std::unordered_map<uint64_t, std::vector<Past>> history_;
  std::map<std::pair<Access, Limit>, Trouble> troubles_;
  Column column_;
  Rates consumed_;
  Rates capacity_sum_;
  int64_t minute_start_ = 0;
  Rates minute_consumed_;
};

struct SimulatedIndex {
  std::unique_ptr<SimulatedResource> played;
  const IndexScenario* scenario;
  std::unique_ptr<KeyStream> keys;
  double owed = 0;  // writes that rounding has kept back
  // Entries of the step's writes by key, as many of each as its weight says, in a random order.
  std::deque<Parcel> entries = {};
  int64_t ready = 0;  // in all of `entries`
};

struct SimulatedTable {
  std::unique_ptr<SimulatedResource> played;
  std::vector<SimulatedIndex> indexes;
};

class Simulation {
 public:
  explicit Simulation(const Scenario& scenario) : s_(scenario), random_(scenario.seed) {
    throughput::ModelSettings model = s_.model;
    // Every request is looked at: parcels are few.
    model.observe_every_halves = 1;
    model.moment_seconds = s_.step_seconds;
    model.worst_kept_seconds = 2 * s_.duration_seconds;
    // What a step brings, comes at once: a partition's second is a step, if that is longer.
    model.partition_burst_seconds = std::max(model.partition_burst_seconds, s_.step_seconds);
    model.maximum_burst_seconds = std::max(model.maximum_burst_seconds, s_.step_seconds);
    model.initial_burst_seconds = std::max(model.initial_burst_seconds, s_.step_seconds);
    model.burst_seconds = std::max(model.burst_seconds, s_.step_seconds);
    model.window_seconds = std::max(model.window_seconds, s_.step_seconds);
    for (const TableScenario& table : s_.tables) {
      SimulatedTable played;
      const std::string& name = table.definition.name;
      played.played = std::make_unique<SimulatedResource>(s_, table.definition, model, name,
                                                          table.auto_scaling, table.changes);
      for (const IndexScenario& index : table.indexes) {
        throughput::ResourceDefinition definition = index.definition;
        definition.entry_bytes = index.entry_bytes;
        played.indexes.push_back(
            {std::make_unique<SimulatedResource>(s_, definition, model, name, index.auto_scaling,
                                                 index.changes),
             &index, std::make_unique<KeyStream>(index.keys, false, random_.Next())});
      }
      tables_.push_back(std::move(played));
    }
    for (const Traffic& traffic : s_.traffic) {
      const bool all =
          traffic.access == Access::kRead &&
          (traffic.whole_collection || traffic.keys.suffix == KeySpace::Suffix::kRandom);
      streams_.emplace_back(traffic.keys, all, random_.Next(), traffic.cache_items);
      TrafficOutcome out;
      out.name = traffic.name;
      out.access = traffic.access;
      out.is_upload = streams_.back().is_upload();
      out_.traffic.push_back(std::move(out));
      owed_.push_back(0);
    }
  }

  std::optional<Outcome> Run(const std::function<bool()>& stop) {
    const int64_t steps = std::max<int64_t>(1, std::llround(s_.duration_seconds / s_.step_seconds));
    const int64_t per_column = (steps + kMostColumns - 1) / static_cast<int64_t>(kMostColumns);
    out_.column_seconds = s_.step_seconds * static_cast<double>(per_column);
    int64_t column_start = 0;
    for (int64_t step = 0; step < steps; ++step) {
      if (stop && stop()) return std::nullopt;
      const double at = static_cast<double>(step) * s_.step_seconds;
      const int64_t now = s_.start_micros + MicrosOf(at);
      const int64_t end = s_.start_micros + MicrosOf(at + s_.step_seconds);
      ForAll([&](SimulatedResource& p) { p.Change(at, now); });
      if (!Requests(at, now, stop)) return std::nullopt;
      ForAll([&](SimulatedResource& p) { p.Step(end, s_.step_seconds); });
      if (step + 1 - column_start == per_column || step + 1 == steps) {
        const double seconds = static_cast<double>(step + 1 - column_start) * s_.step_seconds;
        ForAll([&](SimulatedResource& p) { p.EndColumn(seconds); });
        column_start = step + 1;
      }
    }
    const double duration = s_.step_seconds * static_cast<double>(steps);
    const int64_t end_of_all = s_.start_micros + MicrosOf(duration);
    ForAll([&](SimulatedResource& p) { out_.resources.push_back(p.Finish(end_of_all, duration)); });
    return std::move(out_);
  }

 private:
  template <typename F>
  void ForAll(const F& f) {
    for (SimulatedTable& table : tables_) {
      f(*table.played);
      for (SimulatedIndex& index : table.indexes) f(*index.played);
    }
  }

  double RateAt(const Traffic& t, double at) const {
    if (at < t.from_seconds || at >= t.until_seconds) return 0;
    double rate = 0;
    for (size_t i = 0; i < t.rate.size() && t.rate[i].first <= at; ++i) {
      rate = t.rate[i].second;
      if (!t.linear || i + 1 == t.rate.size()) continue;
      const auto& [next_at, next_rate] = t.rate[i + 1];
      const double width = next_at - t.rate[i].first;
      if (width > 0 && at < next_at) rate += (next_rate - rate) * (at - t.rate[i].first) / width;
    }
    return rate;
  }

  struct Turn {
    size_t traffic;
    Parcel parcel;
  };

  // Draws the entries that the writes of a step make in indexes.
  void DrawEntries(const std::vector<Turn>& turns, int64_t now) {
    std::vector<int64_t> writes(tables_.size());
    for (const Turn& turn : turns) {
      const Traffic& t = s_.traffic[turn.traffic];
      if (t.access == Access::kWrite) writes[t.table] += turn.parcel.count - turn.parcel.cached;
    }
    for (size_t i = 0; i < tables_.size(); ++i) {
      for (SimulatedIndex& index : tables_[i].indexes) {
        const double all = index.owed + static_cast<double>(writes[i]) * index.scenario->fraction;
        // Those that an upload did not come to are still there.
        DrawMore(&index, static_cast<int64_t>(all) - index.ready, now);
      }
    }
  }

  void DrawMore(SimulatedIndex* index, int64_t count, int64_t now) {
    constexpr int64_t kPieces = 64;  // of the entries: large ones are divided
    if (count <= 0) return;
    std::vector<Parcel> pieces;
    const int64_t most = std::max<int64_t>(1, count / kPieces);
    for (const Parcel& parcel : index->keys->Next(now, count)) {
      index->ready += parcel.count;
      for (int64_t left = parcel.count; left > 0; left -= most) {
        pieces.push_back(parcel);
        pieces.back().count = std::min(left, most);
      }
    }
    for (size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[random_.Below(i)]);
    for (Parcel& piece : pieces) index->entries.push_back(std::move(piece));
  }

  // The next `count` entries.
  std::vector<Parcel> TakeEntries(SimulatedIndex* index, int64_t count, int64_t now) {
    DrawMore(index, count - index->ready, now);
    std::vector<Parcel> taken;
    while (count > 0 && !index->entries.empty()) {
      Parcel& first = index->entries.front();
      taken.push_back(first);
      taken.back().count = std::min(count, first.count);
      count -= taken.back().count;
      first.count -= taken.back().count;
      index->ready -= taken.back().count;
      if (first.count == 0) index->entries.pop_front();
    }
    return taken;
  }

  // Sends all requests of a step, in a fair order. Returns false if `stop` ends the run.
  bool Requests(double at, int64_t now, const std::function<bool()>& stop) {
    std::vector<Turn> turns;
    std::vector<std::vector<Parcel>> in_order(s_.traffic.size());
    for (size_t i = 0; i < s_.traffic.size(); ++i) {
      owed_[i] += RateAt(s_.traffic[i], at) * s_.step_seconds;
      const int64_t count = static_cast<int64_t>(owed_[i]);
      owed_[i] -= static_cast<double>(count);
      for (Parcel& parcel : streams_[i].Next(now, count)) turns.push_back({i, std::move(parcel)});
    }
    for (size_t i = turns.size(); i > 1; --i) {
      const size_t other = random_.Below(i);
      // An upload in order stays in order.
      if (streams_[turns[i - 1].traffic].in_order() || streams_[turns[other].traffic].in_order())
        continue;
      std::swap(turns[i - 1], turns[other]);
    }
    DrawEntries(turns, now);
    std::vector<bool> stuck(s_.traffic.size());
    size_t looked = 0;
    for (const Turn& turn : turns) {
      if (++looked % kTurnsUntilLook == 0 && stop && stop()) return false;
      if (stuck[turn.traffic]) continue;
      KeyStream& stream = streams_[turn.traffic];
      const int64_t passed = Send(turn.traffic, turn.parcel, now);
      stream.Passed(passed);
      if (stream.in_order() && passed < turn.parcel.count) stuck[turn.traffic] = true;
      TrafficOutcome& out = out_.traffic[turn.traffic];
      if (stream.done() && !out.finished_seconds) out.finished_seconds = at + s_.step_seconds;
    }
    return true;
  }

  int64_t Send(size_t which, const Parcel& parcel, int64_t now) {
    const Traffic& t = s_.traffic[which];
    SimulatedTable& table = tables_[t.table];
    TrafficOutcome& out = out_.traffic[which];
    out.requests += parcel.count;
    out.served += parcel.cached;
    out.cached += parcel.cached;
    if (parcel.count == parcel.cached) return parcel.count;
    Draw draw{.access = t.access, .point = parcel.point()};
    if (t.access == Access::kRead) {
      draw.eventual = t.consistency == throughput::Consistency::kEventual;
      draw.halves = throughput::ReadHalves(t.item_bytes, t.consistency);
      SimulatedResource& target = t.index ? *table.indexes[*t.index].played : *table.played;
      return parcel.cached + Pass(&out, {{&target, draw}}, parcel.count - parcel.cached, now);
    }
    draw.halves = throughput::WriteHalves(t.item_bytes, t.transactional);
    int64_t passed = 0;
    // The number of a parcel's writes that touch an index. It is the first `count` of them.
    struct IndexWrites {
      SimulatedIndex* index;
      int64_t count;
      std::vector<Parcel> entries;
      size_t at = 0;      // the entry that is written now
      int64_t until = 0;  // of the parcel's writes, where the next one begins
      const Parcel& entry() const { return entries[at]; }
    };
    std::vector<IndexWrites> touches;
    for (SimulatedIndex& index : table.indexes) {
      index.owed += static_cast<double>(parcel.count) * index.scenario->fraction;
      const int64_t count = std::min(parcel.count, static_cast<int64_t>(index.owed));
      index.owed -= static_cast<double>(count);
      if (count == 0) continue;
      touches.push_back({&index, 0, TakeEntries(&index, count, now)});
    }
    std::vector<int64_t> ends{parcel.count};
    for (IndexWrites& touch : touches) {
      for (const Parcel& entry : touch.entries) ends.push_back(touch.count += entry.count);
      if (touch.count > 0) touch.until = touch.entries[0].count;
    }
    std::sort(ends.begin(), ends.end());
    int64_t from = 0;
    for (const int64_t to : ends) {
      if (to == from) continue;
      std::vector<std::pair<SimulatedResource*, Draw>> draws{{table.played.get(), draw}};
      for (IndexWrites& touch : touches) {
        if (touch.count <= from) continue;
        if (touch.until <= from) touch.until += touch.entries[++touch.at].count;
        draws.push_back(
            {touch.index->played.get(),
             {.access = Access::kWrite,
              .halves = throughput::WriteHalves(touch.index->scenario->entry_bytes, false),
              .point = touch.entry().point()}});
      }
      const int64_t now_passed = Pass(&out, draws, to - from, now);
      passed += now_passed;
      if (t.deletes) table.played->Remove(draw.point, t.item_bytes, now_passed);
      if (t.new_items) {
        if (t.ttl_seconds > 0) {
          table.played->Expire(now + MicrosOf(t.ttl_seconds + t.ttl_delay_seconds * random_.Unit()),
                               draw.point, t.item_bytes, now_passed);
        }
        table.played->resource().AddBytes(draw.point, now_passed * t.item_bytes, now_passed);
        for (const IndexWrites& touch : touches) {
          if (touch.count <= from) continue;
          touch.index->played->resource().AddBytes(
              touch.entry().point(), now_passed * touch.index->scenario->entry_bytes, now_passed);
        }
      }
      from = to;
    }
    return passed;
  }

  int64_t Pass(TrafficOutcome* out, std::vector<std::pair<SimulatedResource*, Draw>> draws,
               int64_t count, int64_t now) {
    plain_.clear();
    for (auto& [played, draw] : draws) {
      draw.resource = &played->resource();
      plain_.push_back(draw);
    }
    Verdict verdict;
    const int64_t passed = throughput::AdmitMany(now, plain_, count, &verdict);
    out->served += passed;
    const int64_t refused = count - passed;
    for (const auto& [played, draw] : draws) {
      const bool refuser = refused > 0 && verdict.resource == draw.resource;
      if (passed > 0 || refuser) played->Count(draw, passed, refuser ? refused : 0, verdict);
    }
    if (refused > 0) {
      out->throttled[std::string(throughput::ReasonCode(verdict.resource->is_index(),
                                                        verdict.access, verdict.limit))] += refused;
    }
    return passed;
  }

  const Scenario& s_;
  SeededRandom random_;
  std::vector<SimulatedTable> tables_;
  std::deque<KeyStream> streams_;
  std::vector<double> owed_;
  std::vector<Draw> plain_;
  Outcome out_;
};

}  // namespace

int64_t TrafficOutcome::throttled_total() const {
  int64_t sum = 0;
  for (const auto& [reason, count] : throttled) sum += count;
  return sum;
}

MonthlyPrice PriceOf(const Scenario& scenario, const ResourceOutcome& resource) {
  MonthlyPrice price;
  price.storage = throughput::StorageMonth(scenario.prices, static_cast<double>(resource.bytes));
  if (resource.billing == throughput::Billing::kProvisioned) {
    const Rates& units = resource.average_capacity;
    price.capacity = throughput::ProvisionedMonth(scenario.prices, units.read, units.write);
    price.reserved = throughput::ProvisionedMonth(scenario.prices, units.read, units.write, true);
  } else {
    price.capacity = throughput::OnDemandMonth(scenario.prices,
                                               resource.consumed.read / scenario.duration_seconds,
                                               resource.consumed.write / scenario.duration_seconds);
  }
  return price;
}

Outcome Run(const Scenario& scenario) { return *Simulation(scenario).Run({}); }

std::optional<Outcome> RunUntil(const Scenario& scenario, const std::function<bool()>& stop) {
  return Simulation(scenario).Run(stop);
}

}  // namespace stator::simulate

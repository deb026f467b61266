#include "advise/analysis.h"

#include <algorithm>
#include <cmath>

#include "throughput/units.h"

namespace stator::advise {
namespace {

using request_log::Consistency;
using request_log::Outcome;
using request_log::Request;
using throughput::Access;

constexpr size_t kMostSalts = 16;
constexpr int64_t kLateMicros = 1'000'000;
constexpr size_t kMostWrites = 4096;  // of a table: items whose last write's units are kept

void Remember(const std::vector<std::string>& names, std::set<std::string>* out) {
  for (const std::string& name : names) {
    if (out->size() >= kMostAttributes) return;
    out->insert(name);
  }
}

throughput::Consistency UnitConsistency(Consistency consistency) {
  switch (consistency) {
    case Consistency::kEventual: return throughput::Consistency::kEventual;
    case Consistency::kStrong: return throughput::Consistency::kStrong;
    case Consistency::kTransactional: return throughput::Consistency::kTransactional;
  }
  return throughput::Consistency::kEventual;
}

void Count(int64_t bytes, SizeCount* out) {
  ++out->items;
  out->over_1kb += bytes > throughput::kWriteUnitBytes ? 1 : 0;
  out->over_4kb += bytes > throughput::kReadUnitBytes ? 1 : 0;
  out->bytes += bytes;
  out->largest = std::max(out->largest, bytes);
}

// The key of an entry; none if it is not known.
std::vector<request_log::KeyUse> KeyUsesOf(const request_log::IndexWrite& write) {
  std::vector<request_log::KeyUse> touches;
  if (!write.partition.empty()) touches.push_back({write.partition, "", {}});
  return touches;
}

}  // namespace

// A table or a global index.
struct Analysis::Load {
  ResourceReport report;
  KeyLoad keys[throughput::kAccesses] = {KeyLoad(Access::kRead), KeyLoad(Access::kWrite)};
  CostMeter cost;
  std::array<double, throughput::kAccesses> units_served{};

  void Add(int64_t now, Access access, const std::vector<request_log::KeyUse>& touches,
           double units, bool refused = false) {
    const size_t a = static_cast<size_t>(access);
    ++(refused ? report.refused : report.requests)[a];
    if (!refused) units_served[a] += units;
    cost.Add(now, access, units, refused);
    // A batch's units are its keys' in equal parts: more is not recorded.
    for (const request_log::KeyUse& touch : touches) {
      keys[a].Add(now, touch.partition, touch.sort, units / static_cast<double>(touches.size()));
    }
  }
};

struct Analysis::Table {
  TableReport report;
  Load load;
  std::map<std::string, std::unique_ptr<Load>> indexes;
  std::unique_ptr<Replay> replay;
  // GetItems of the second, by collection.
  struct Gets {
    int64_t requests = 0;
    double units = 0;
    int64_t bytes = 0;
  };
  std::map<std::string, Gets> gets;
  int64_t gets_second = -1;
  // What the last served write of an item cost, by key.
  std::map<std::pair<std::string, std::string>, double> writes;

  // Returns the units that an earlier write of the same item cost, or `average` if there was none.
  double UnitsOf(const request_log::KeyUse& touch, double average) const {
    const auto found = writes.find({touch.partition, touch.sort});
    return found != writes.end() ? found->second : average;
  }
};

Analysis::Analysis() = default;
Analysis::~Analysis() = default;

void Analysis::BeginFile(const std::string& file) {
  if (!ended_) out_.cut_off = true;
  ended_ = false;
  out_.files.push_back(file);
}

void Analysis::AddDamage(int64_t line, const std::string& what) {
  ++out_.lines;
  ++out_.damaged;
  if (out_.damage.size() < kMostDamagedShown)
    out_.damage.push_back({out_.files.back(), line, what});
}

void Analysis::Add(const request_log::Record& record, int64_t line) {
  ++out_.lines;
  if (const auto* request = std::get_if<Request>(&record)) return AddRequest(*request);
  if (const auto* table = std::get_if<request_log::TableDefinition>(&record))
    return AddTable(*table);
  if (const auto* lost = std::get_if<request_log::Lost>(&record)) {
    // Both are below 2^50, and a file has no 2^13 lines of such a size.
    out_.lost = std::min(out_.lost + lost->count, int64_t{1} << 60);
  } else if (const auto* end = std::get_if<request_log::End>(&record)) {
    ended_ = true;
    out_.full = out_.full || end->reason == "size";
  } else {
    AddHeader(std::get<request_log::Header>(record), line);
  }
}

void Analysis::AddHeader(const request_log::Header& header, int64_t line) {
  if (line > 1 && !ended_) out_.cut_off = true;
  ended_ = false;
  if (header.keys != request_log::KeyForm::kHashed && header.salt.empty()) {
    if (salts_.size() < kMostSalts) salts_.insert("");
  } else {
    out_.hashed = true;
    if (salts_.size() < kMostSalts) salts_.insert(header.salt);
  }
}

Analysis::Table* Analysis::TableOf(const std::string& name) {
  const auto found = tables_.find(name);
  if (found != tables_.end()) return found->second.get();
  if (tables_.size() >= kMostTables) return nullptr;
  std::unique_ptr<Table>& table = tables_[name];
  table = std::make_unique<Table>();
  table->report.definition.name = name;
  table->load.report.name = name;
  return table.get();
}

Analysis::Load* Analysis::LoadOf(Table* table, const std::string& index) {
  const auto found = table->indexes.find(index);
  if (found != table->indexes.end()) return found->second.get();
  const auto& indexes = table->report.definition.indexes;
  const bool global = std::any_of(indexes.begin(), indexes.end(), [&](const auto& defined) {
    return defined.name == index && defined.global;
  });
  if (!global) return &table->load;  // a local index is a part of its table
  if (loads_of_indexes_ >= kMostIndexes) return nullptr;
  ++loads_of_indexes_;
  std::unique_ptr<Load>& load = table->indexes[index];
  load = std::make_unique<Load>();
  load->report.name = index;
  load->report.is_index = true;
  return load.get();
}

void Analysis::AddTable(const request_log::TableDefinition& definition) {
  Table* table = TableOf(definition.name);
  if (table == nullptr) return;
  // The time in a definition's line may be up to a second later than those of the requests that
  // follow it. So it does not advance the clock, and the replay begins with the first request.
  TableReport& report = table->report;
  for (request_log::IndexDefinition& before : report.definition.indexes) {
    const auto same = [&](const request_log::IndexDefinition& index) {
      return index.name == before.name;
    };
    if (std::none_of(definition.indexes.begin(), definition.indexes.end(), same) &&
        report.deleted_indexes.size() < kMostIndexes) {
      std::erase_if(report.deleted_indexes, same);
      report.deleted_indexes.push_back(std::move(before));
    }
  }
  report.definition = definition;
  report.defined = true;
  if (table->replay != nullptr) table->replay->Define(definition, now_micros_);
}

void Analysis::AddRequest(const Request& request) {
  ++out_.requests;
  if (request.at_micros + kLateMicros < now_micros_) ++out_.out_of_order;
  // Threads write side by side: time only goes forward here.
  const int64_t now = now_micros_ = std::max(now_micros_, request.at_micros);
  if (!first_micros_) first_micros_ = now;
  out_.end_micros = now;
  Table* table = TableOf(request.table);
  if (table == nullptr) {
    ++out_.not_analysed;
    return;
  }
  if (table->replay == nullptr && table->report.defined)
    table->replay = std::make_unique<Replay>(table->report.definition, now);
  table->report.ttl_millis += request.ttl_form == request_log::TtlForm::kMillis ? 1 : 0;
  table->report.ttl_text += request.ttl_form == request_log::TtlForm::kText ? 1 : 0;
  if (request.outcome == Outcome::kThrottled) {
    ++table->report.throttled;
    AddRefused(request, now, table);
  }
  if (request.outcome == Outcome::kConditionFailed) ++table->report.conditions_failed;
  // Nothing is told of the units of what failed.
  if (request.outcome != Outcome::kServed) return;
  if (request.read_units > 0) {
    AddRead(request, now, table);
  } else {
    AddWrite(request, now, table);
  }
  if (table->replay != nullptr) table->replay->Add(request, now);
}

// Adds demand that was not served. Its units are not recorded: a PutItem is taken to cost its
// item's bytes, an update or a delete as much as the last one of the same item, or else, as a read,
// as much as the others on average. Entries that a PutItem would have made in global indexes are
// recorded.
void Analysis::AddRefused(const Request& request, int64_t now, Table* table) {
  static const std::set<std::string> kReads = {"GetItem", "Query", "Scan", "BatchGetItem",
                                               "TransactGetItems"};
  static const std::set<std::string> kWrites = {"PutItem", "UpdateItem", "DeleteItem",
                                                "BatchWriteItem", "TransactWriteItems"};
  const bool reads = kReads.contains(request.operation);
  Load* load = reads && !request.index.empty() ? LoadOf(table, request.index) : &table->load;
  const double keys = static_cast<double>(std::max<size_t>(1, request.keys.size()));
  Request asked = request;
  double& units = reads ? asked.read_units : asked.write_units;
  units = 0;
  if (reads && load != nullptr) {
    const double half = request.consistency == Consistency::kEventual ? 0.5 : 1;
    const int64_t count = load->report.requests[0];
    units = count > 0 ? load->units_served[0] / static_cast<double>(count) : half * keys;
  } else if (kWrites.contains(request.operation)) {
    const int64_t count = load == nullptr ? 0 : load->report.requests[1];
    const double average = count > 0 ? load->units_served[1] / static_cast<double>(count) : 1;
    for (const request_log::KeyUse& touch : request.keys) {
      std::optional<int64_t> bytes = touch.bytes;
      if (!bytes && request.keys.size() == 1) bytes = request.stored_bytes;
      // An update tells of what it changes, and is charged for the whole item.
      const int64_t given = request.keys.size() == 1 ? request.asked_bytes.value_or(1) : 1;
      const double least =
          static_cast<double>(throughput::WriteUnits(std::max<int64_t>(1, bytes.value_or(given))));
      units += bytes ? least : std::max(least, table->UnitsOf(touch, average));
    }
    if (request.operation == "TransactWriteItems") units *= 2;
  }
  if (load == nullptr || units <= 0) {
    ++table->report.throttled_unknown;
    return;
  }
  (reads ? table->report.throttled_units.read : table->report.throttled_units.write) += units;
  load->Add(now, reads ? Access::kRead : Access::kWrite, asked.keys, units, true);
  for (const request_log::IndexWrite& write : asked.index_writes) {
    Load* of_index = LoadOf(table, write.index);
    if (of_index == nullptr || of_index == &table->load) continue;
    of_index->Add(now, Access::kWrite, KeyUsesOf(write), write.units, true);
  }
  if (table->replay != nullptr) table->replay->Add(asked, now);
}

void Analysis::AddRead(const Request& request, int64_t now, Table* table) {
  TableReport& report = table->report;
  Load* load = request.index.empty() ? &table->load : LoadOf(table, request.index);
  if (load == nullptr) {
    ++out_.not_analysed;
    return;
  }
  load->Add(now, Access::kRead, request.keys, request.read_units);
  if (request.consistency == Consistency::kStrong) load->report.strong_units += request.read_units;
  if (request.consistency == Consistency::kEventual)
    load->report.eventual_units += request.read_units;

  const int64_t second = now / 1'000'000;
  if (table->gets_second != second) CloseCollections(table);
  table->gets_second = second;
  if (request.operation == "GetItem" && request.keys.size() == 1 && !request.keys[0].sort.empty() &&
      request.stored_bytes &&
      (table->gets.size() < kMostCollections || table->gets.contains(request.keys[0].partition))) {
    Table::Gets& gets = table->gets[request.keys[0].partition];
    ++gets.requests;
    gets.units += request.read_units;
    gets.bytes += *request.stored_bytes;
  }
  const bool pages = request.scanned.has_value();
  if (pages && request.operation == "Query" && request.index.empty() && request.filter.empty() &&
      !request.attributes.empty() && request.stored_bytes && request.asked_bytes) {
    NarrowUse& narrow = report.narrow_queries;
    ++narrow.requests;
    narrow.units += request.read_units;
    const double apart = throughput::HalvesToUnits(
        throughput::ReadHalves(*request.asked_bytes, UnitConsistency(request.consistency)));
    narrow.units_apart += std::min(request.read_units, apart);
    narrow.stored_bytes += *request.stored_bytes;
    narrow.asked_bytes += *request.asked_bytes;
    Remember(request.attributes, &narrow.attributes);
  }
  if (!pages && request.keys.size() == 1 && request.stored_bytes && *request.stored_bytes > 0) {
    Count(*request.stored_bytes, &report.sizes[0]);
  }
  if (request.index.empty() && !pages && request.keys.size() == 1 && request.stored_bytes &&
      request.asked_bytes && !request.attributes.empty()) {
    NarrowUse& narrow = report.narrow_reads;
    ++narrow.requests;
    narrow.units += request.read_units;
    // The key comes along with what is apart; it is among the asked bytes or as short as them.
    const double apart = throughput::HalvesToUnits(
        throughput::ReadHalves(*request.asked_bytes, UnitConsistency(request.consistency)));
    narrow.units_apart += std::min(request.read_units, apart);
    narrow.stored_bytes += *request.stored_bytes;
    narrow.asked_bytes += *request.asked_bytes;
    Remember(request.attributes, &narrow.attributes);
  }
  if (pages) {
    auto found =
        std::find_if(report.patterns.begin(), report.patterns.end(), [&](const Pattern& p) {
          return p.operation == request.operation && p.index == request.index &&
                 p.filter == request.filter;
        });
    if (found == report.patterns.end() && report.patterns.size() < kMostPatterns) {
      report.patterns.push_back({request.operation, request.index, request.filter});
      found = std::prev(report.patterns.end());
    }
    if (found != report.patterns.end()) {
      ++found->requests;
      found->units += request.read_units;
      found->scanned += *request.scanned;
      found->returned += request.returned.value_or(0);
    }
  }
  if (request.index.empty()) return;
  // A table cannot have this many indexes, so the recording is not from a server. Ignore further
  // names.
  if (report.indexes.size() >= kMostIndexes && !report.indexes.contains(request.index)) return;
  IndexUse& use = report.indexes[request.index];
  ++use.reads;
  use.read_units += request.read_units;
  if (request.attributes.empty()) use.everything = true;
  Remember(request.attributes, &use.attributes);
  Remember(request.filter, &use.attributes);
  // What a filter dropped is as large as what it let pass; of a page that returned nothing nothing
  // is known.
  double apart = request.read_units;
  if (request.asked_bytes && request.scanned && request.returned.value_or(0) > 0) {
    const double bytes = static_cast<double>(*request.asked_bytes) *
                         static_cast<double>(*request.scanned) /
                         static_cast<double>(*request.returned);
    apart = std::min(
        apart, throughput::HalvesToUnits(throughput::ReadHalves(
                   std::llround(std::min(bytes, 1e15)), UnitConsistency(request.consistency))));
  }
  use.units_apart += apart;
}

// The end of a second of reads.
void Analysis::CloseCollections(Table* table) {
  for (const auto& [partition, gets] : table->gets) {
    if (gets.requests < kManyGets) continue;
    CollectionReads& reads = table->report.collection_reads;
    reads.requests += gets.requests;
    reads.units += gets.units;
    // As if they were strongly consistent: at most that.
    const double whole = throughput::HalvesToUnits(
        throughput::ReadHalves(gets.bytes, throughput::Consistency::kStrong));
    reads.units_together += std::min(gets.units, whole);
  }
  table->gets.clear();
}

void Analysis::AddWrite(const Request& request, int64_t now, Table* table) {
  TableReport& report = table->report;
  if (request.operation == "DeleteItem") {
    ++report.deletes;
    report.delete_units += request.write_units;
  }
  if (request.write_units > 0)
    table->load.Add(now, Access::kWrite, request.keys, request.write_units);
  if (request.keys.size() == 1 && request.write_units > 0 &&
      request.consistency != Consistency::kTransactional) {
    std::pair<std::string, std::string> key(request.keys[0].partition, request.keys[0].sort);
    if (table->writes.size() < kMostWrites || table->writes.contains(key))
      table->writes[std::move(key)] = request.write_units;
  }
  for (const request_log::KeyUse& touch : request.keys) {
    if (touch.bytes && *touch.bytes > 0) Count(*touch.bytes, &report.sizes[1]);
  }
  for (const request_log::IndexWrite& write : request.index_writes) {
    Load* load = LoadOf(table, write.index);
    if (load == nullptr || load == &table->load) continue;
    IndexUse& use = report.indexes[write.index];
    ++use.writes;
    use.write_units += write.units;
    load->Add(now, Access::kWrite, KeyUsesOf(write), write.units);
  }
  if (request.operation == "UpdateItem" && request.stored_bytes && request.asked_bytes &&
      request.keys.size() == 1) {
    NarrowUse& narrow = report.narrow_updates;
    ++narrow.requests;
    narrow.units += request.write_units;
    const double apart = static_cast<double>(throughput::WriteUnits(*request.asked_bytes));
    narrow.units_apart += std::min(request.write_units, apart);
    narrow.stored_bytes += *request.stored_bytes;
    narrow.asked_bytes += *request.asked_bytes;
  }
}

Recording Analysis::Finish() {
  if (!ended_) out_.cut_off = true;
  out_.secrets = salts_.size();
  out_.start_micros = first_micros_.value_or(0);
  for (auto& [name, table] : tables_) {
    const auto close = [this, &report = table->report, replay = table->replay.get()](Load& load) {
      for (size_t a = 0; a < throughput::kAccesses; ++a)
        load.report.keys[a] = load.keys[a].Finish();
      for (size_t a = 0; a < throughput::kAccesses && replay != nullptr; ++a) {
        const KeyLoadSummary& keys = load.report.keys[a];
        const std::string index = load.report.is_index ? load.report.name : "";
        const Access access = static_cast<Access>(a);
        std::optional<throughput::Explanation> told = replay->Tell(index, keys.peak_key, access);
        load.report.spread[a] =
            told ? told->spread
                 : replay->Spread(index, keys.peak_key, access, keys.peak_key_per_second);
        load.report.told[a] = std::move(told);
      }
      load.report.cost = load.cost.Finish(out_.start_micros, out_.end_micros);
      report.resources.push_back(std::move(load.report));
    };
    CloseCollections(table.get());
    close(table->load);
    for (auto& [index_name, load] : table->indexes) close(*load);
    if (table->replay != nullptr) table->report.replay = table->replay->Finish();
    out_.tables.push_back(std::move(table->report));
  }
  return std::move(out_);
}

}  // namespace stator::advise

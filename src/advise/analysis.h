// Takes a recording record by record and keeps what judge.h needs. Memory is bounded whatever the
// recording holds: at most kMostTables tables with kMostIndexes indexes between them; what is
// beyond is counted. Deterministic. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "advise/cost.h"
#include "advise/key_load.h"
#include "advise/replay.h"
#include "request_log/record.h"

namespace stator::advise {

inline constexpr size_t kMostTables = 100;
inline constexpr size_t kMostIndexes = 100;    // of all tables, local ones aside
inline constexpr size_t kMostPatterns = 64;    // of a table
inline constexpr size_t kMostAttributes = 32;  // whose names are kept of each kind of use
inline constexpr size_t kMostDamagedShown = 5;
inline constexpr int64_t kManyGets = 10;          // of one collection in one second
inline constexpr size_t kMostCollections = 1000;  // that are watched in one second

// Reads or updates of few attributes, and what they would cost if those were an item of their own.
struct NarrowUse {
  int64_t requests = 0;
  double units = 0;
  double units_apart = 0;
  int64_t stored_bytes = 0;
  int64_t asked_bytes = 0;
  std::set<std::string> attributes;  // asked for; at most kMostAttributes
};

// Requests of one operation on one table or index with one set of filtered attributes.
struct Pattern {
  std::string operation;
  std::string index;
  std::vector<std::string> filter;
  int64_t requests = 0;
  double units = 0;
  int64_t scanned = 0;
  int64_t returned = 0;
};

struct IndexUse {
  int64_t reads = 0;
  double read_units = 0;
  double units_apart = 0;   // what the reads would cost if entries held what was asked for
  bool everything = false;  // a read without a projection was seen
  std::set<std::string> attributes;
  int64_t writes = 0;
  double write_units = 0;  // of a global index
};

struct ResourceReport {
  std::string name;
  bool is_index = false;
  std::array<KeyLoadSummary, throughput::kAccesses> keys;  // reads, writes
  std::array<int64_t, throughput::kAccesses> requests{};   // that were served
  std::array<int64_t, throughput::kAccesses> refused{};    // whose units are known
  // For the key with the highest peak, where one partition does not hold it.
  std::array<throughput::SpreadPlan, throughput::kAccesses> spread;
  // A server's explanation of that key (Replay::Tell); absent if another key was hottest in the
  // replay, or none.
  std::array<std::optional<throughput::Explanation>, throughput::kAccesses> told;
  double strong_units = 0;  // read units by consistency
  double eventual_units = 0;
  CostSummary cost;
};

// Items whose size was told, by whom reads and writes.
struct SizeCount {
  int64_t items = 0;
  int64_t over_1kb = 0;
  int64_t over_4kb = 0;
  int64_t bytes = 0;
  int64_t largest = 0;
};

// GetItems of one collection in one second, where there were many; and what one Query in their
// place would have cost.
struct CollectionReads {
  int64_t requests = 0;
  double units = 0;
  double units_together = 0;
};

struct TableReport {
  request_log::TableDefinition definition;  // the latest
  bool defined = false;  // false: used before any line defined it, which no recorder does
  // Those that were used and then deleted; at most kMostIndexes.
  std::vector<request_log::IndexDefinition> deleted_indexes;
  std::vector<ResourceReport> resources;  // the table, then its global indexes by name
  int64_t throttled = 0;                  // requests that the server refused
  int64_t throttled_unknown = 0;          // of them, those whose units cannot be told
  throughput::Rates throttled_units;      // what the others asked for, in all
  int64_t ttl_millis = 0;                 // items whose time to live is in milliseconds, or a text
  int64_t ttl_text = 0;
  int64_t conditions_failed = 0;
  std::array<SizeCount, throughput::kAccesses> sizes;
  NarrowUse narrow_reads;
  NarrowUse narrow_updates;
  NarrowUse narrow_queries;  // of the table, without a filter
  CollectionReads collection_reads;
  int64_t deletes = 0;
  double delete_units = 0;
  std::map<std::string, IndexUse> indexes;
  std::vector<Pattern> patterns;
  ReplaySummary replay;
};

struct Damage {
  std::string file;
  int64_t line = 0;
  std::string what;
};

struct Recording {
  std::vector<std::string> files;
  int64_t lines = 0;
  int64_t damaged = 0;
  std::vector<Damage> damage;  // the first kMostDamagedShown
  int64_t requests = 0;
  int64_t lost = 0;
  int64_t not_analysed = 0;  // requests on tables and indexes beyond the bound
  int64_t out_of_order = 0;  // requests older than one before them by more than a second
  bool hashed = false;
  size_t secrets = 0;    // different ones: keys of different secrets can't be compared
  bool cut_off = false;  // a file ended without saying so: the server runs still, or was killed
  bool full = false;     // it ended at --record-max-mb
  int64_t start_micros = 0;
  int64_t end_micros = 0;
  std::vector<TableReport> tables;  // by name
  double seconds() const { return SecondsOf(start_micros, end_micros); }
};

class Analysis {
 public:
  Analysis();
  ~Analysis();

  void BeginFile(const std::string& file);
  // `line` counts from 1.
  void Add(const request_log::Record& record, int64_t line);
  void AddDamage(int64_t line, const std::string& what);
  Recording Finish();

 private:
  struct Load;
  struct Table;
  void AddHeader(const request_log::Header& header, int64_t line);
  void AddTable(const request_log::TableDefinition& definition);
  void AddRequest(const request_log::Request& request);
  void AddRead(const request_log::Request& request, int64_t now, Table* table);
  void AddWrite(const request_log::Request& request, int64_t now, Table* table);
  void CloseCollections(Table* table);
  void AddRefused(const request_log::Request& request, int64_t now, Table* table);
  Load* LoadOf(Table* table, const std::string& index);
  Table* TableOf(const std::string& name);

  Recording out_;
  std::map<std::string, std::unique_ptr<Table>> tables_;
  std::set<std::string> salts_;
  size_t loads_of_indexes_ = 0;
  std::optional<int64_t> first_micros_;
  int64_t now_micros_ = 0;
  bool ended_ = true;
};

}  // namespace stator::advise

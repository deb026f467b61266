// The records of a recording, one for each line. docs/advise.md has the grammar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stator::request_log {

inline constexpr int64_t kVersion = 1;

enum class KeyForm : uint8_t { kPlain, kHashed };

// Times are microseconds since the Unix epoch, by the server's clock.

// The first line of a file. A server also writes one whenever it begins to append to the file.
struct Header {
  int64_t at_micros = 0;
  KeyForm keys = KeyForm::kPlain;
  // kHashed: names the secret without revealing it; keys are comparable if their salts are equal
  std::string salt;
};

enum class Projection : uint8_t { kAll, kKeysOnly, kInclude };

// Key attributes are written "name:type", for example "Artist:S".
struct IndexDefinition {
  std::string name;
  bool global = true;
  std::vector<std::string> partition;
  std::vector<std::string> sort;
  Projection projection = Projection::kAll;
  std::vector<std::string> attributes;  // kInclude
  // Provisioned units of a global index; 0 on demand.
  double read_units = 0;
  double write_units = 0;
  int64_t bytes = 0;
  int64_t items = 0;
};

struct TableDefinition {
  int64_t at_micros = 0;
  std::string name;
  std::vector<std::string> partition;
  std::vector<std::string> sort;
  bool on_demand = false;
  double read_units = 0;  // provisioned; 0 on demand
  double write_units = 0;
  std::optional<double> max_read;  // OnDemandThroughput
  std::optional<double> max_write;
  bool stream = false;
  std::vector<IndexDefinition> indexes;
  // At the time of the line.
  int64_t bytes = 0;
  int64_t items = 0;
};

// One key of a request. Plain keys are "S:text", "N:decimal" or "B:base64"; the values of a key of
// several attributes are joined by the unit separator U+001F. A hashed key is "#" and sixteen
// hexadecimal digits.
struct KeyUse {
  std::string partition;
  std::string sort;              // empty: the table has none, or the request names none
  std::optional<int64_t> bytes;  // of the item, if the request or its answer shows it
};

// The part of a write in one global index.
struct IndexWrite {
  std::string index;
  double units = 0;
  std::string partition;  // of the entry; empty: unknown
};

enum class Consistency : uint8_t { kEventual, kStrong, kTransactional };
// How a write fills the attribute of its table's time to live. Milliseconds and texts never expire.
enum class TtlForm : uint8_t { kFine, kMillis, kText };
enum class Outcome : uint8_t { kServed, kThrottled, kConditionFailed, kCancelled };

// The effect of one request on one table or index. A batch or transaction on several tables makes
// one Request for each.
struct Request {
  int64_t at_micros = 0;
  std::string operation;
  std::string table;
  std::string index;  // for a read of an index; empty: the table
  // One key for an operation on an item; for a Query its partition, without a sort key; none for a
  // Scan and for PartiQL.
  std::vector<KeyUse> keys;
  // The size of the items read or written, as stored, before filter and projection.
  std::optional<int64_t> stored_bytes;
  // For reads: the size of the attributes in the answer. For UpdateItem: the size of the key and of
  // the values in the request.
  std::optional<int64_t> asked_bytes;
  double read_units = 0;   // of the index if it is global, including fetches from the table
  double write_units = 0;  // of the table and its local indexes
  std::vector<IndexWrite> index_writes;
  Consistency consistency = Consistency::kEventual;  // of reads; kTransactional also of writes
  std::optional<int64_t> scanned;                    // Query and Scan
  std::optional<int64_t> returned;
  std::vector<std::string> attributes;  // top-level attributes of a projection; empty: all
  std::vector<std::string> filter;      // top-level attributes of a filter
  Outcome outcome = Outcome::kServed;
  TtlForm ttl_form = TtlForm::kFine;  // of PutItem and BatchWriteItem
};

// The number of requests not recorded since the last such line, because the disk was too slow.
struct Lost {
  int64_t at_micros = 0;
  int64_t count = 0;
};

// The end of a server's part of the file. Only another header may follow.
struct End {
  int64_t at_micros = 0;
  std::string reason;  // "stopped" or "size"
};

using Record = std::variant<Header, TableDefinition, Request, Lost, End>;

}  // namespace stator::request_log

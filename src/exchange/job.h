// Exports, imports and bulk puts as the store keeps them.
//
//   tablet 9 of Space::kCatalog
//   key   := "export/" id | "import/" id | "bulk/" id
//          | "bulk-cancel/" id         the bulk put is to be cancelled; the value has no json
//          | "bulk-report/" id "/" type "/" number:8    lines that are in no report yet:
//                                      value := stamp:8 01 lines; type is "e" or "c"
//   value := stamp:8 version:1 json    readers ignore members that they do not know
//   version := 01
//            | 02                      of an export that versions of Stator before filters would
//                                      write wrongly; they log it and leave it alone
//
// A version of Stator that does not know the tablet ignores it. A store with a bulk put needs the
// feature kBulkPuts: an older version would leave the job to a later one, which would overwrite
// what clients have written since.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/engine.h"

namespace stator::exchange {

inline constexpr kv::Tablet kJobTablet = {kv::Space::kCatalog, 9};
inline constexpr std::string_view kBulkPuts = "bulk-puts";
// How long a job is listed after its end. [D]
inline constexpr int64_t kListedMicros = int64_t{90} * 86'400 * 1'000'000;

enum class JobState : uint8_t { kInProgress = 0, kCompleted = 1, kFailed = 2 };
enum class Format : uint8_t { kDynamoDbJson = 0, kIon = 1, kCsv = 2 };
enum class Compression : uint8_t { kGzip = 0, kZstd = 1, kNone = 2 };
enum class View : uint8_t { kNewImage = 0, kNewAndOldImages = 1 };

// Times are microseconds since the epoch.
struct Job {
  std::string id;  // 14 digits of milliseconds, "-", 8 hexadecimal digits
  std::string table_arn;
  std::string table_name;
  std::string table_id;
  std::optional<std::string> client_token;
  std::string parameters;  // those of the request, to compare with another of the same token
  std::string bucket;
  std::optional<std::string> bucket_owner;
  Format format = Format::kDynamoDbJson;
  JobState state = JobState::kInProgress;
  int64_t start_micros = 0;
  int64_t end_micros = 0;    // 0 while it is in progress
  std::string failure_code;  // this and the next: of a failed one
  std::string failure_message;
};

// FilterSpecification of an export, as sent.
struct ItemFilter {
  std::optional<std::string> filter_expression;
  std::optional<std::string> projection_expression;
  std::optional<std::string> key_condition_expression;
  // Encoded items, of texts "#n" and of values ":v"; empty: the request had none.
  std::string names;
  std::string values;
};

struct ExportJob : Job {
  std::optional<std::string> prefix;
  bool key_service = false;  // S3SseAlgorithm KMS
  std::optional<std::string> key_id;
  int64_t moment_micros = 0;  // the last whose changes are exported
  int64_t shown_micros = 0;   // ExportTime
  struct Window {
    int64_t from_micros = 0;  // the last whose changes are not exported
    int64_t shown_from_micros = 0;
    int64_t shown_to_micros = 0;
    View view = View::kNewAndOldImages;
  };
  std::optional<Window> window;  // of an incremental export
  std::optional<ItemFilter> filter;
  int64_t items = 0;  // this and the next two: of a completed one
  int64_t billed_bytes = 0;
  std::string manifest;
};

struct CsvOptions {
  std::optional<std::string> delimiter;
  std::optional<std::vector<std::string>> headers;
};

struct ImportJob : Job {
  std::optional<std::string> prefix;
  std::optional<CsvOptions> csv;
  Compression compression = Compression::kNone;
  std::string definition;  // of the table: TableDescriptor::Encode
  // Everything is written and counted; the table may be shown, and the job ends.
  bool filled = false;
  int64_t processed_bytes = 0;
  int64_t processed_items = 0;
  int64_t imported_items = 0;
  int64_t errors = 0;
};

// A bulk put. Its progress is stored with the items that it has put, in one batch.
struct BulkJob : Job {
  std::optional<std::string> prefix;
  Compression compression = Compression::kNone;
  std::string output_bucket;
  std::optional<std::string> output_owner;
  std::optional<std::string> output_prefix;
  std::optional<std::string> encryption;  // S3SseAlgorithm, as sent
  std::optional<std::string> key_id;
  std::optional<std::vector<std::string>> outputs;  // OutputType, as sent
  int64_t max_units = 0;                            // write units per second; 0: no limit
  std::optional<std::string> tier;                  // as sent
  bool cancelled = false;                           // of a failed one: its status is CANCELLED

  // Objects up to this key are done. `records` of the next one, `key`, are.
  std::string done_key;
  std::string key;
  int64_t key_bytes = 0;
  int64_t records = 0;
  int64_t done_bytes = 0;   // of the objects that are done
  int64_t total_bytes = 0;  // of all objects, once `listed`
  bool listed = false;
  int64_t read_bytes = 0;
  int64_t processed_items = 0;
  int64_t errors = 0;
  int64_t failed_conditions = 0;
  int64_t put_items = 0;
  // Lines of one type of output.
  struct Report {
    int64_t lines = 0;
    int64_t bytes = 0;
    int64_t parts = 0;          // objects that are written
    int64_t pending = 0;        // records of lines that are in none of them
    int64_t pending_bytes = 0;  // of those
    bool truncated = false;     // lines were left out
  };
  Report error_report;
  Report condition_report;
  int64_t table_bytes = 0;  // of the items that were put
  struct IndexUsage {
    std::string name;
    bool local = false;
    int64_t bytes = 0;  // of the entries that were put
  };
  std::vector<IndexUsage> index_usage;
};

std::string EncodeJob(const ExportJob& job);
std::string EncodeJob(const ImportJob& job);
std::string EncodeJob(const BulkJob& job);
// kCorruption if the text is none.
Status DecodeJob(std::string_view text, ExportJob* job);
Status DecodeJob(std::string_view text, ImportJob* job);
Status DecodeJob(std::string_view text, BulkJob* job);

// Returns the version byte of the record of a job.
inline char RecordVersionOf(const ExportJob& job) {
  return job.filter || (job.window && job.format == Format::kIon) ? 2 : 1;
}
inline char RecordVersionOf(const Job&) { return 1; }
inline constexpr char kNewestRecordVersion = 2;

inline std::string_view KeyPrefixOf(const ExportJob*) { return "export/"; }
inline std::string_view KeyPrefixOf(const ImportJob*) { return "import/"; }
inline std::string_view KeyPrefixOf(const BulkJob*) { return "bulk/"; }

// The end of a job that did not complete, or an empty code.
struct Failure {
  std::string code;  // FailureCode; empty: none
  std::string message;
};

}  // namespace stator::exchange

#include "copy/copy.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "copy/marker.h"
#include "copy/writer.h"
#include "table/key_encoding.h"
#include "table/outcomes.h"
#include "table/settings_feature.h"

namespace stator::copy {
namespace {

using table::Store;
using table::TableDescriptor;
using table::TablePtr;

constexpr size_t kChunkItems = 4096;
constexpr size_t kChunkBytes = 8 << 20;
constexpr size_t kShownKeyBytes = 64;
constexpr auto kBuildPoll = std::chrono::milliseconds(10);

// Applies a change to the catalog and waits for it.
template <typename Change>
Result<TablePtr> Await(const Change& change) {
  struct Answer {
    table::Outcomes arrived{1};
    std::optional<Result<TablePtr>> table;
  };
  const auto answer = std::make_shared<Answer>();
  change([answer](Result<TablePtr> table) {
    answer->table.emplace(std::move(table));
    answer->arrived.Add(OkStatus());
  });
  (void)answer->arrived.Wait();
  return std::move(*answer->table);
}

// Visits all items with keys from `begin` on. Reads them in pages, so that no single read takes
// long.
Status VisitItems(Store& store, const table::Table& table, std::string begin,
                  FunctionRef<Status(std::string_view key, model::ItemView item)> visit) {
  if (begin.empty()) begin = table::FirstKeyOfHash(0);
  const std::string end = table::EndOfItemKeys();
  for (;;) {
    std::vector<std::pair<std::string, std::string>> chunk;
    size_t bytes = 0;
    TRY(store.Scan(table, begin, end, false, kv::Tier::kAny,
                   [&](std::string_view key, model::ItemView item) {
                     bytes += key.size() + item.encoded().size();
                     chunk.emplace_back(key, item.encoded());
                     return chunk.size() < kChunkItems && bytes < kChunkBytes;
                   }));
    for (const auto& [key, item] : chunk) TRY(visit(key, model::ItemView(item)));
    if (chunk.size() < kChunkItems && bytes < kChunkBytes) return OkStatus();
    begin = chunk.back().first + '\0';
  }
}

Result<Digest> DigestOf(Store& store, const table::Table& table) {
  Digest digest;
  TRY(VisitItems(store, table, "", [&digest](std::string_view key, model::ItemView item) {
    digest.Add(key, item.encoded());
    return OkStatus();
  }));
  return digest;
}

// Returns the definition that the copy is created with. It has no time to live and no stream, so
// that writing the items creates no entries and no records.
TableDescriptor DefinitionFor(const TableDescriptor& source) {
  TableDescriptor d = source;
  d.tablet_id = 0;
  d.fence = 0;
  d.stream_view_type.reset();
  d.stream_label.clear();
  d.kinesis.clear();
  d.capture_label.clear();
  d.expiry.reset();
  d.change_log.reset();
  std::erase_if(d.indexes, [](const table::IndexDescriptor& index) {
    return index.state == table::IndexDescriptor::State::kDeleting;
  });
  for (table::IndexDescriptor& index : d.indexes) {
    // A new index is complete once all items are written.
    index.state = table::IndexDescriptor::State::kActive;
    if (index.is_global()) index.tablet_id = 0;
  }
  return d;
}

// The copy of one table.
class TableCopy {
 public:
  TableCopy(Store& from, Store& to, const Options& options, TablePtr source)
      : from_(from),
        to_(to),
        options_(options),
        name_(source->descriptor.name),
        source_(std::move(source)) {
    copied_.table = name_;
    copied_.has_stream = source_->descriptor.stream_view_type.has_value();
  }

  Result<Copied> Run() {
    TRY(Begin());
    if (marker_.phase == Marker::Phase::kDone) {
      copied_.how = Copied::How::kEarlier;
      copied_.source = copied_.target = marker_.digest;
      return std::move(copied_);
    }
    if (marker_.phase == Marker::Phase::kCopying) TRY(CopyItems());
    if (marker_.phase == Marker::Phase::kVerifying) TRY(Verify());
    copied_.source = copied_.target = marker_.digest;
    TRY(Complete());
    return std::move(copied_);
  }

 private:
  Status Mark(Marker::Phase phase) {
    marker_.phase = phase;
    TRY(WriteMarker(to_.engine(), name_, marker_));
    return Progress();
  }
  Status Progress() { return options_.progress ? options_.progress(name_, items_) : OkStatus(); }
  Error Refuse(std::string text) const { return Error(ErrorCode::kResourceInUse, std::move(text)); }

  // Finds out how far an earlier run came, and makes sure that the table exists in the target.
  Status Begin() {
    if (source_->descriptor.deleting_micros != 0)
      return Refuse("The table " + name_ + " is being deleted.");
    if (source_->descriptor.restore) {
      return Refuse(
          "The table " + name_ +
          " is being restored from a backup. Start a server, and copy when it is ACTIVE.");
    }
    ASSIGN_OR_RETURN(const std::optional<Marker> marker, ReadMarker(to_.engine(), name_));
    target_ = to_.Find(name_);
    const std::string& id = source_->descriptor.table_id;
    const bool ours =
        marker && marker->source == id && target_ != nullptr && target_->descriptor.table_id == id;
    if (target_ != nullptr && !ours) {
      return Refuse("The target has a table " + name_ +
                    " already, which was not begun by a copy of this table. Drop it or copy to "
                    "another target.");
    }
    if (ours && marker->phase != Marker::Phase::kDiffers) {
      marker_ = *marker;
      copied_.how = Copied::How::kResumed;
      return OkStatus();
    }
    if (ours) {
      const auto ours_to_drop = [](const TableDescriptor&) { return OkStatus(); };
      TRY(Await([&](auto done) { to_.Drop(name_, ours_to_drop, std::move(done)); }));
      target_ = nullptr;
    }
    if (source_->descriptor.NeedsTableSettings()) TRY(table::RequireTableSettings(to_));
    if (table::IsOfOtherAccount(source_->descriptor.name)) TRY(table::RequireAccounts(to_));
    // The marker first: a table without a marker is not recognized as a copy.
    marker_ = Marker{id, Marker::Phase::kCopying, {}, {}};
    TRY(Mark(Marker::Phase::kCopying));
    ASSIGN_OR_RETURN(target_, Await([this](auto done) {
                       to_.Create(DefinitionFor(source_->descriptor), std::move(done));
                     }));
    return Progress();
  }

  Status CopyItems() {
    Writer writer(to_, target_, options_);
    size_t since_mark = 0;
    TRY(VisitItems(from_, *source_, marker_.next,
                   [&](std::string_view key, model::ItemView item) -> Status {
                     TRY(Check(key, item));
                     TRY(writer.Add(key, item.encoded()));
                     ++items_;
                     if (++since_mark < options_.mark_items || writer.durable_to().empty())
                       return OkStatus();
                     since_mark = 0;
                     marker_.next = writer.durable_to();
                     return Mark(Marker::Phase::kCopying);
                   }));
    TRY(writer.Finish());
    marker_.next.clear();
    return Mark(Marker::Phase::kVerifying);
  }

  // The source may be of any age and have come from anywhere: its checksums say that the bytes are
  // those that were written, and not that they are an item.
  Status Check(std::string_view key, model::ItemView item) const {
    const model::KeySchema& schema = source_->key_schema();
    const auto has = [item](const model::KeyAttribute& attribute) {
      const model::ValueView value = item.Find(attribute.name);
      return !value.empty() && value.type() == attribute.type;
    };
    if (model::CheckItem(item.encoded()).ok() && has(schema.partition) &&
        (!schema.sort || has(*schema.sort)) && table::EncodeItemKey(schema, item) == key)
      return OkStatus();
    std::string digits;
    for (const char byte : key.substr(0, kShownKeyBytes))
      digits += fmt::format("{:02x}", static_cast<uint8_t>(byte));
    return CorruptionError(
        fmt::format("An item of the table {} in the source is damaged and was not copied; its "
                    "stored key begins with {}.",
                    name_, digits));
  }

  Status Verify() {
    ASSIGN_OR_RETURN(const Digest source, DigestOf(from_, *source_));
    ASSIGN_OR_RETURN(const Digest target, DigestOf(to_, *target_));
    if (source == target) {
      marker_.digest = source;
      return Mark(Marker::Phase::kFinishing);
    }
    TRY(Mark(Marker::Phase::kDiffers));
    return Error(
        ErrorCode::kInternal,
        "The copy of " + name_ + " differs: the source has " + std::to_string(source.items) +
            " items with checksum " + source.Checksum() + ", the target " +
            std::to_string(target.items) + " with " + target.Checksum() +
            ". Either a client wrote to one of them during the copy, or one is damaged. Stop all "
            "writers and run the copy again; it begins anew.");
  }

  // Sets up time to live and the stream, now that no more items are written.
  Status Complete() {
    const TableDescriptor& wanted = source_->descriptor;
    const TableDescriptor& has = target_->descriptor;
    const bool expires = wanted.HasTimeToLive() && !has.expiry;
    const bool streams = wanted.stream_view_type && !has.stream_view_type;
    if (expires || streams) {
      ASSIGN_OR_RETURN(target_, Await([&](auto done) {
                         to_.Alter(
                             name_,
                             [view = wanted.stream_view_type,
                              expiry = wanted.HasTimeToLive() ? wanted.expiry
                                                              : std::nullopt](TableDescriptor* d) {
                               d->stream_view_type = view;
                               if (expiry && !d->expiry)
                                 d->expiry.emplace().attribute = expiry->attribute;
                               return OkStatus();
                             },
                             std::move(done));
                       }));
      TRY(Progress());
    }
    // Waits for the entries of time to live. If the process is killed here, the next process that
    // opens the store builds the rest.
    while (to_.BuildsIndexes()) std::this_thread::sleep_for(kBuildPoll);
    if (const auto damaged = to_.DamagedTables(); damaged.count(name_) > 0)
      return CorruptionError(damaged.at(name_));
    return Mark(Marker::Phase::kDone);
  }

  Store& from_;
  Store& to_;
  const Options& options_;
  const std::string name_;
  const TablePtr source_;
  TablePtr target_;
  Marker marker_;
  Copied copied_;
  int64_t items_ = 0;
};

}  // namespace

Status CopyTables(Store& from, Store& to, const Options& options,
                  const std::function<void(const Copied&)>& done) {
  std::vector<TablePtr> tables;
  if (options.tables.empty()) tables = from.List();
  for (const std::string& name : options.tables) {
    tables.push_back(from.Find(name));
    if (tables.back() == nullptr)
      return Error(ErrorCode::kResourceNotFound, "The source has no table " + name + ".");
  }
  for (const TablePtr& table : tables) {
    ASSIGN_OR_RETURN(const Copied copied, TableCopy(from, to, options, table).Run());
    done(copied);
  }
  return OkStatus();
}

}  // namespace stator::copy

// The items in an object that is imported.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_function.h"
#include "exchange/byte_source.h"
#include "exchange/codec.h"
#include "exchange/documents.h"
#include "exchange/job.h"
#include "table/descriptor.h"
#include "transfer/folders.h"

namespace stator::exchange {

// The size of the text of one item, at most: 400 KB of binary values or escaped text are less. Also
// of the white space before it, so that an object costs work in proportion to its items.
inline constexpr size_t kMostTextBytes = 8 << 20;

// Hears of each item, encoded but not checked against its table, or why there is none.
using VisitItem = FunctionRef<Status(Result<std::string> item)>;

// Visits the items of an object in order. A text that is not an item is visited as an error; if the
// text behind it cannot be parsed, the visit ends there. Adds the number of decompressed bytes to
// *bytes. Returns an error of `visit`; kUnavailable if the object cannot be read or `stopped` (see
// ByteSource) returned true.
Status ReadItems(std::unique_ptr<transfer::ObjectReader> object, const ImportJob& job,
                 const Codec& codec, const table::TableDescriptor& table, VisitItem visit,
                 int64_t* bytes, std::function<bool()> stopped = nullptr);

// The parts of ReadItems, for other readers of the same formats.

// Returns the item in the text of one document. kCorruption: the text behind this document cannot
// be parsed either.
using ReadDocument = FunctionRef<Result<std::string>(std::string_view text)>;
// Visits the items of a source of JSON objects or Ion structs, as ReadItems does.
Status ReadDocuments(ByteSource& source, Documents::Kind kind, ReadDocument read, VisitItem visit);

enum class EmptyField : uint8_t {
  kText,   // is an empty text
  kAbsent  // is no attribute, unless it stands in quotes
};
Status ReadCsvItems(ByteSource& source, const CsvOptions& options, EmptyField empty,
                    const table::TableDescriptor& table, VisitItem visit);

// Returns the item of {"Item":{...}}.
Result<std::string> ReadJsonItem(simdjson::dom::element document, const Codec& codec);
// Is a ReadDocument of structs with a member Item.
Result<std::string> ReadIonDocument(std::string_view text);

}  // namespace stator::exchange

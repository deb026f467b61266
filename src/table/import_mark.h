// The mark of a table that is being imported: a RestoreSource whose backup no folder can have, so
// that a version of Stator that knows restores only removes the table.
#pragma once

#include <string>
#include <string_view>

#include "table/descriptor.h"

namespace stator::table {

inline constexpr std::string_view kImportMark = "import/";

inline RestoreSource ImportMark(std::string_view import_id) {
  RestoreSource mark;
  mark.backup_id = std::string(kImportMark).append(import_id);
  return mark;
}
inline bool IsImport(const RestoreSource& source) {
  return source.backup_id.starts_with(kImportMark);
}

}  // namespace stator::table

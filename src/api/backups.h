// Schemas of the operations on backups.
#pragma once

#include "api/schema.h"
#include "ops/backups.h"
#include "ops/continuous_backups.h"

namespace stator::api {

template <>
const OperationSchema& SchemaOf<ops::CreateBackupRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeBackupRequest>();
template <>
const OperationSchema& SchemaOf<ops::DeleteBackupRequest>();
template <>
const OperationSchema& SchemaOf<ops::ListBackupsRequest>();
template <>
const OperationSchema& SchemaOf<ops::RestoreTableFromBackupRequest>();
template <>
const OperationSchema& SchemaOf<ops::UpdateContinuousBackupsRequest>();
template <>
const OperationSchema& SchemaOf<ops::RestoreTableToPointInTimeRequest>();

}  // namespace stator::api

// Backups, exports, imports and bulk operations: resources beside tables, against policies.
#include "guard/test_guard.h"
#include "ops/backups.h"
#include "ops/bulk_operations.h"
#include "ops/continuous_backups.h"
#include "ops/exports.h"
#include "ops/imports.h"

namespace stator::guard {
namespace {

TEST_F(GuardTest, BackupsAreResourcesOfTheirOwn) {
  const std::string backup = std::string(kTable) + "/backup/01795613126583-0a1b2c3d";
  ops::CreateBackupRequest create;
  create.table_name = "Photos";
  Allow("dynamodb:CreateBackup");
  ExpectAllowed(create, "CreateBackup");
  ExpectDenied(ops::DescribeBackupRequest{backup},
               "dynamodb:DescribeBackup on resource: arn:", "DescribeBackup");
  Allow("dynamodb:*Backup", "", backup);
  ExpectDenied(create, "", "CreateBackup");
  ExpectAllowed(ops::DescribeBackupRequest{backup}, "DescribeBackup");
  ExpectAllowed(ops::DeleteBackupRequest{backup}, "DeleteBackup");
  ExpectDenied(ops::DeleteBackupRequest{backup + "e"}, "", "DeleteBackup");
  ExpectDenied(ops::ListBackupsRequest{}, "dynamodb:ListBackups on resource: *", "ListBackups");

  ops::RestoreTableFromBackupRequest restore;
  restore.backup_arn = backup;
  restore.target_table_name = "Photos";
  ExpectDenied(restore, "dynamodb:BatchWriteItem on resource: arn:", "RestoreTableFromBackup");
  Allow("*", "", std::string(kTable));
  ExpectDenied(restore,
               "dynamodb:RestoreTableFromBackup on resource: arn:", "RestoreTableFromBackup");
}

TEST_F(GuardTest, ExportsAndImportsAreResourcesOfTheirOwn) {
  ops::ExportTableToPointInTimeRequest write;
  write.table_arn = kTable;
  ops::ImportTableRequest import;
  import.table_creation_parameters.table_name = "Photos";
  const std::string job = std::string(kTable) + "/export/01795613126583-0a1b2c3d";
  const std::string other = std::string(kTable) + "/import/01795613126583-0a1b2c3d";
  Allow("dynamodb:GetItem");
  ExpectDenied(write,
               "dynamodb:ExportTableToPointInTime on resource: arn:", "ExportTableToPointInTime");
  ExpectDenied(import, "dynamodb:ImportTable on resource: arn:", "ImportTable");
  Allow("dynamodb:*", "", std::string(kTable));
  ExpectAllowed(write, "ExportTableToPointInTime");
  ExpectAllowed(import, "ImportTable");
  import.table_creation_parameters.table_name = "Others";
  ExpectDenied(import, "table/Others", "ImportTable");
  ExpectDenied(ops::DescribeExportRequest{job},
               "dynamodb:DescribeExport on resource: arn:", "DescribeExport");
  ExpectDenied(ops::ListExportsRequest{}, "dynamodb:ListExports on resource: *", "ListExports");
  ExpectDenied(ops::ListImportsRequest{}, "dynamodb:ListImports on resource: *", "ListImports");
  Allow("dynamodb:Describe*", "", job);
  ExpectAllowed(ops::DescribeExportRequest{job}, "DescribeExport");
  ExpectDenied(ops::DescribeExportRequest{job + "e"}, "", "DescribeExport");
  ExpectDenied(ops::DescribeImportRequest{other}, "", "DescribeImport");
}

TEST_F(GuardTest, BulkOperationsAreResourcesOfTheirOwn) {
  ops::StartBulkPutItemsRequest start;
  start.table_name = "Photos";
  const std::string job = std::string(kTable) + "/bulk-operation/01795613126583-0a1b2c3d";
  Allow("dynamodb:PutItem", "", std::string(kTable));
  ExpectDenied(start, "dynamodb:StartBulkPutItems on resource: arn:", "StartBulkPutItems");
  Allow("dynamodb:StartBulkPutItems", "", std::string(kTable));
  ExpectDenied(start, "dynamodb:PutItem on resource: arn:", "StartBulkPutItems");
  // The items are not known.
  Allow("dynamodb:*", kOwnItems);
  ExpectDenied(start, "", "StartBulkPutItems");
  ExpectDenied(ops::ListBulkOperationsRequest{}, "dynamodb:ListBulkOperations on resource: *",
               "ListBulkOperations");
  Allow("dynamodb:*", "", std::string(kTable));
  ExpectAllowed(start, "StartBulkPutItems");
  ExpectDenied(ops::CancelBulkOperationRequest{job},
               "dynamodb:CancelBulkOperation on resource: arn:", "CancelBulkOperation");
  Allow("dynamodb:*BulkOperation", "", job);
  ExpectAllowed(ops::CancelBulkOperationRequest{job}, "CancelBulkOperation");
  ExpectAllowed(ops::DescribeBulkOperationRequest{job}, "DescribeBulkOperation");
  ExpectDenied(ops::DescribeBulkOperationRequest{job + "e"}, "", "DescribeBulkOperation");
}

TEST_F(GuardTest, RestoreToAMomentNeedsTheSourceAndTheItemsOfTheTarget) {
  ops::UpdateContinuousBackupsRequest update;
  update.table_name = "Photos";
  ops::RestoreTableToPointInTimeRequest restore;
  restore.source_table_name = "Photos";
  restore.target_table_name = "Target";
  Allow("dynamodb:UpdateContinuousBackups", "", std::string(kTable));
  ExpectAllowed(update, "UpdateContinuousBackups");
  ExpectDenied(restore,
               "dynamodb:RestoreTableToPointInTime on resource: arn:", "RestoreTableToPointInTime");
  Allow("dynamodb:*", "", std::string(kTable));
  ExpectDenied(restore, "dynamodb:BatchWriteItem on resource: arn:", "RestoreTableToPointInTime");
  restore.target_table_name = "Photos";
  ExpectAllowed(restore, "RestoreTableToPointInTime");
  restore.source_table_name = "Others";
  ExpectDenied(restore, "", "RestoreTableToPointInTime");
  restore.source_table_arn = std::string(kTable);
  restore.source_table_name.reset();
  ExpectAllowed(restore, "RestoreTableToPointInTime");
  restore.source_table_arn.reset();
  ExpectDenied(restore, "", "RestoreTableToPointInTime");
}

}  // namespace
}  // namespace stator::guard

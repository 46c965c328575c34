/** Short names for the API's response types; the generated schema describes their members. */
import type { components } from './schema.gen.ts';

type Schemas = components['schemas'];

export type Totals = Schemas['Totals'];
export type SelectionEcho = Schemas['SelectionEcho'];
export type TableRow = Schemas['TableRow'];
export type TableAnswer = Schemas['TableAnswer'];
export type LabelAnswer = Schemas['LabelAnswer'];
export type LabelsAnswer = Schemas['LabelsAnswer'];
export type StatusAnswer = Schemas['StatusAnswer'];
export type SearchHit = Schemas['SearchHit'];
export type DiffRow = Schemas['DiffRow'];
export type DiffAnswer = Schemas['DiffAnswer'];
export type ReliabilityAnswer = Schemas['ReliabilityAnswer'];
export type SymbolsAnswer = Schemas['SymbolsAnswer'];
export type BinarySymbols = Schemas['BinarySymbols'];
export type BinaryAnswer = Schemas['BinaryAnswer'];
export type SymbolRequestAnswer = Schemas['SymbolRequestAnswer'];
export type SymbolFile = Schemas['SymbolFile'];
export type UploadAnswer = Schemas['UploadAnswer'];
export type UploadTerms = Schemas['UploadTerms'];
export type ReprocessingAnswer = Schemas['ReprocessingAnswer'];
export type ReleasesAnswer = Schemas['ReleasesAnswer'];
export type ReleasedApplication = Schemas['ReleasedApplication'];
export type ReleaseComparison = Schemas['ReleaseComparison'];
export type ChangedFunction = Schemas['ChangedFunction'];
export type ChangesAnswer = Schemas['ChangesAnswer'];
export type Change = Schemas['Change'];
export type RegressionsAnswer = Schemas['RegressionsAnswer'];
export type MoversAnswer = Schemas['MoversAnswer'];
export type Mover = Schemas['Mover'];
export type Figure = Schemas['Figure'];
/** The JSON part of the binary flame graph. */
export type FlameSummary = Omit<Schemas['FlameAnswer'], 'nodes'>;
export type MachineRow = Schemas['MachineRow'];
export type MachineAnswer = Schemas['MachineAnswer'];
export type MachinesAnswer = Schemas['MachinesAnswer'];
export type MachineSort = Schemas['MachineSort'];
export type VisitRow = Schemas['VisitRow'];
export type RequestedVisit = Schemas['RequestedVisit'];
export type CampaignAnswer = Schemas['CampaignAnswer'];
/** What an operator can change of a campaign. */
export type CampaignPlan = Schemas['NewCampaign'];
export type CampaignsAnswer = Schemas['CampaignsAnswer'];
export type CampaignHour = Schemas['CampaignHour'];
export type CampaignChange = Schemas['CampaignChange'];
export type ChangedCampaign = Schemas['ChangedCampaign'];
export type SavedView = Schemas['View'];
export type CreatedToken = Schemas['CreatedToken'];
export type Prices = Schemas['Prices'];

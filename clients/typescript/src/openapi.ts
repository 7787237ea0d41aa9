// Made from docs/openapi.json by `npm run types`. Do not edit.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The rights of the request. */
        AccessAnswer: {
            /** @description Whether it may read stored bank queries: `HUBLESS_BANK_READERS`. */
            bank_queries: boolean;
            /** @description To which collections the key is limited; null for no limit. */
            collections: string[] | null;
            /** @description Whether the server has API keys. */
            keys: boolean;
            /**
             * @description Of the key; admin where the server has no keys.
             * @enum {string}
             */
            role: "read" | "write" | "admin";
        };
        /** @description The aims of the index: recall, and limits in bytes and milliseconds; None for no limit. */
        AimsRecord: {
            latency_ms: number | null;
            memory: number | null;
            recall: number;
        };
        /** @description Another name of a collection. */
        AliasAnswer: {
            alias: string;
            collection: string;
            /** @description What If-Match takes: changes whenever the alias does. */
            etag: string;
        };
        /** @description All aliases of collections that may be seen. */
        AliasesAnswer: {
            aliases: components["schemas"]["AliasAnswer"][];
        };
        /**
         * @description The target of an alias.
         * @example {
         *       "collection": "stdlib"
         *     }
         */
        AliasRequest: {
            /** @description The name of a collection, not an alias. */
            collection: string;
        };
        /** @description The process answers. */
        AliveAnswer: {
            /** @constant */
            status: "ok";
        };
        /** @description All corrections of scores that may be seen. */
        AllScoresAnswer: {
            scores: components["schemas"]["ScoresAnswer"][];
        };
        /** @description The query bank of the version that is served, and what becomes of one that was put. */
        BankAnswer: {
            collection: string;
            /** @description That was fitted. */
            correction: string;
            /** @description Share of the targets that they cover; null if not known. */
            coverage: number | null;
            /** @description Who decided the default strength, and what labels say; null in older versions. */
            decided: components["schemas"]["DecidedStrength"] | null;
            /** @description The payload column of the groups that it was fitted by; null for one fit. */
            fit_by: string | null;
            /** @description Share of the targets that came after the fit. */
            frozen_share: number;
            /** @description Targets whose offset stood alone, and is held back: queries may have been made to bury them. */
            held_back: (number | string)[];
            /** @description How many queries the correction was fitted on; 0 for none. */
            queries: number;
            /** @description How many of them the version stores, to be sent one by one. */
            stored: number;
            version: string;
            /** @description null for none. */
            waiting: components["schemas"]["WaitingBank"] | null;
            /** @description null for none. */
            work: components["schemas"]["WorkAnswer"] | null;
        };
        /** @description A query of the bank. */
        BankQueryAnswer: {
            collection: string;
            /** @description Its number among those that are stored, from 0. */
            number: number;
            /** @description How many of the bank's queries the version stores. */
            stored: number;
            /** @description One number a dimension; null for a stored target that has none. */
            vector: number[] | null;
            version: string;
        };
        /**
         * @description Measurements of the query bank before it was used, on samples of it and of the targets.
         *
         *     Attributes
         *     ----------
         *     repeated : share of the queries that repeat others
         *     distinct : how many are different, or of another group; the correction was fitted on these. None in older versions
         *     queries : how many were asked, copies and all
         *     among_targets : share of the different queries that are targets
         *     apart_from_targets : how well bank and targets are told apart, as AUC, 0.5 for one cloud; None for too few
         *     related_to_targets : how much nearer than strangers the queries are to targets, as AUC; None where that says nothing
         *     relative_length : median length of bank queries over that of targets, unless the metric is "cosine"
         *     coverage : share of the targets that the queries cover (see `hubless.measures.coverage`); None for too few of
         *         either
         *     held_back : ids of targets whose offset stood alone with this bank, and is held back; at most 100
         */
        BankRecord: {
            among_targets: number;
            apart_from_targets: number | null;
            coverage?: number | null;
            distinct?: number | null;
            /** @default [] */
            held_back: (number | string)[];
            queries: number;
            related_to_targets: number | null;
            relative_length: number | null;
            repeated: number;
        };
        /** @description Hits for each query of the batch, in its order. */
        BatchAnswer: {
            collection: string;
            results: components["schemas"]["QueryHits"][];
            version: string;
        };
        /**
         * @description Several queries, answered in order, all or none.
         * @example {
         *       "queries": [
         *         {
         *           "id": "subprocess.run",
         *           "limit": 3
         *         }
         *       ]
         *     }
         */
        BatchRequest: {
            /** @description At most 1,000. */
            queries: components["schemas"]["QueryRequest"][];
        };
        /** @description The first ten of a canary query, in both versions. */
        ChangedAnswers: {
            after: components["schemas"]["IdJson"][];
            before: components["schemas"]["IdJson"][];
            /** @description How many stand in both. */
            kept: number;
        };
        /** @description A field of the manifest that differs. */
        ChangedField: {
            after: unknown;
            before: unknown;
            /** @description Its name, with dots: `correction.details.temperature`. */
            field: string;
        };
        /** @description Result of telling what people clicked. It is on the disk. */
        ClicksAnswer: {
            collection: string;
            /** @description How many clicks are kept; 0 of a request with X-No-Sample. */
            kept: number;
            version: string;
        };
        /**
         * @description Clicks, all or none.
         * @example {
         *       "clicks": [
         *         {
         *           "query": {
         *             "vector": [
         *               0.6,
         *               0.8
         *             ]
         *           },
         *           "target": "new"
         *         }
         *       ]
         *     }
         */
        ClicksRequest: {
            /** @description At most 1,000. */
            clicks: components["schemas"]["ToldClick"][];
        };
        /** @description A collection, its correction, and its measurements. */
        CollectionAnswer: {
            /** @description Other names that stand for it. */
            aliases: string[];
            /** @description What was seen of the query bank; null without one. */
            bank: components["schemas"]["BankRecord"] | null;
            /** @description The model of confidence; null without a query bank. */
            confidence: components["schemas"]["ConfidenceRecord"] | null;
            correction: components["schemas"]["CorrectionRecord"];
            /** @description How many targets it has. */
            count: number;
            /** @description When the version was built, ISO 8601. */
            created: string;
            /** @description How many dimensions a query vector must have. */
            dim: number;
            /** @description Dimensions of the stored vectors, or of an index with candidates; null: all. */
            dims: number | null;
            /** @enum {string} */
            id_type: "int64" | "string";
            /** @description Whether it can be asked with a picture. */
            image: boolean;
            index: components["schemas"]["IndexRecord"];
            /** @description As `GET .../hubness` found it last in this worker; null before. */
            live: components["schemas"]["LiveFigures"] | null;
            /** @description null where there was no query bank to measure with. */
            measured: components["schemas"]["Measured"] | null;
            /** @enum {string} */
            metric: "cosine" | "dot" | "euclidean";
            name: string;
            /** @description columns: each has a type. json: objects with any keys. null: none. */
            payload: ("columns" | "json") | null;
            payload_columns: string[];
            /** @description Arrow's name of each column's type, by which filters are checked. */
            payload_types: {
                [key: string]: string;
            };
            /** @description Whether the server may have pictures of its targets. */
            pictures: boolean;
            /** @description null before any query is kept, or if it is switched off. */
            query_sample: components["schemas"]["SampleFigures"] | null;
            /** @description Strength of a query that gives none. */
            strength: number;
            /** @description Whether it can be asked with a text. */
            text: boolean;
            version: string;
            /** @description The ids of all versions that are stored, oldest first. */
            versions: string[];
            writes: components["schemas"]["Writes"];
        };
        /** @description All collections that are served. */
        CollectionsAnswer: {
            collections: components["schemas"]["CollectionAnswer"][];
        };
        /** @description The model of confidence: see docs/confidence.md. */
        ConfidenceRecord: {
            /** @description The values of min_accuracy that some answers reach. */
            accuracies: number[];
            /** @description Whether labelled pairs made confidence and presence probabilities. */
            calibrated: boolean;
            /**
             * @description 0: confidence supposes that one target is right for a query. Above: labels with several let similarity count.
             * @default 0
             */
            lean: number;
            /** @description The number of these pairs. */
            pairs: number;
        };
        /** @description The requested correction, and what the fit chose and measured. */
        CorrectionRecord: {
            /** @description What the fit chose and measured, such as the temperature. */
            details: {
                [key: string]: unknown;
            };
            name: string;
            /** @description What was asked for. */
            parameters: {
                [key: string]: unknown;
            };
        };
        /** @description The number of targets, or of those that meet the filter. */
        CountAnswer: {
            collection: string;
            count: number;
            version: string;
        };
        /** @description Live queries that count for a bank that waits for them, or lists for a correction of scores that learns. */
        CountedAnswer: {
            /** @description Clients that asked: API keys, or addresses where there are no keys. */
            clients: number;
            /** @description So many at least; 1 if trusted ones ask. */
            clients_needed: number;
            /** @description How many count: of one client a tenth of `sampled`, or of all lists, at most. */
            queries: number;
        };
        /** @description A count of targets. */
        CountRequest: {
            /** @description Only targets that meet it; all if not given. */
            filter?: components["schemas"]["Filter"] | null;
            /** @description What answers has this write, whichever worker it is: the seq that the answer to a write gave. */
            min_seq?: number | null;
        };
        /**
         * @description The settings of an empty collection.
         * @example {
         *       "dim": 2,
         *       "id_type": "string",
         *       "metric": "cosine",
         *       "payload_schema": {
         *         "price": "float64"
         *       }
         *     }
         */
        CreateCollectionRequest: {
            /** @description Dimensions of its vectors. */
            dim: number;
            /** @description Dimensions of the index, below dim. Needs keep_full. */
            dims?: number | null;
            /** @description An endpoint that turns texts into vectors, such as {"type": "openai", "url": "http://…/v1", "model": "m"}; see docs/encoders.md. Needs a key of role admin. A collection that is there takes it while it is empty. */
            encoder?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description The type of its ids.
             * @enum {string}
             */
            id_type: "string" | "int64";
            /** @description Whether the index has dims dimensions only; whole vectors rank its candidates. */
            keep_full?: boolean | null;
            /**
             * @description cosine compares directions, dot takes lengths into account, euclidean ranks by distance.
             * @enum {string}
             */
            metric: "cosine" | "dot" | "euclidean";
            /** @description Names of types by column. If not given payload is free: JSON objects with any keys. */
            payload_schema?: {
                [key: string]: string;
            } | null;
        };
        /** @description The default strength, who decided it, warnings of it in sentences, and what labels say. */
        DecidedStrength: {
            /**
             * @description `lengths`: those of targets under metric dot.
             * @default default
             * @enum {string}
             */
            by: "default" | "given" | "lengths" | "live queries" | "clicks" | "labels";
            /** @description null without labels of queries that are not in the bank. */
            labels?: components["schemas"]["LabelsRecord"] | null;
            /** @default [] */
            notes: string[];
            value: number;
        };
        /** @description Result of deleting points. */
        DeleteAnswer: {
            collection: string;
            deleted: number;
            /** @description The number of the write; of the last one if nothing was deleted. */
            seq: number;
            version: string;
        };
        /** @description The collection is gone. */
        DeletedCollectionAnswer: {
            collection: string;
            deleted: boolean;
        };
        /** @description The correction is gone. */
        DeletedScoresAnswer: {
            deleted: boolean;
            name: string;
        };
        /**
         * @description Which targets to delete: either those of some ids, or those that meet a filter.
         * @example {
         *       "ids": [
         *         "new"
         *       ]
         *     }
         */
        DeletePointsRequest: {
            /** @description memory answers before the disk has it: a crash of the machine may lose it. For loads that you can repeat. */
            durability?: ("disk" | "memory") | null;
            /** @description All targets that meet it are deleted. */
            filter?: components["schemas"]["Filter"] | null;
            /** @description At most 1,000. Ids that no target has are passed over. */
            ids?: components["schemas"]["StoredId"][] | null;
        };
        /** @description The differences between two versions of a collection. */
        DiffAnswer: {
            added: components["schemas"]["IdChanges"];
            /** @description Of the older version; none if the dimensions differ. */
            canaries: components["schemas"]["ChangedAnswers"][];
            collection: string;
            fields: components["schemas"]["ChangedField"][];
            removed: components["schemas"]["IdChanges"];
            since: string;
            version: string;
        };
        /** @description The distance of the queries from the query bank. */
        DriftFigures: {
            /** @description What to do if the queries have left the bank; null if not. */
            advice: string | null;
            /** @description 0 is not at all, 1 the border of what chance would give in 1 % of the cases. */
            drift: number;
            /** @description Different queries of which this is known. */
            queries: number;
        };
        /** @description The engine outside of the process that holds the vectors of a version. */
        EngineRecord: {
            /** @description What else the engine has to know to open it. */
            details: {
                [key: string]: unknown;
            };
            /** @description Its name, as `build` takes it. */
            engine: string;
            /** @description The kind of index there. */
            kind: string;
            /** @description The name of what holds the vectors there; empty if no target has a vector. */
            name: string;
        };
        /** @description Which targets: by their payload; see docs/filters.md. */
        Filter: components["schemas"]["FilterCondition"] | components["schemas"]["FilterAnd"] | components["schemas"]["FilterOr"] | components["schemas"]["FilterNot"] | components["schemas"]["FilterShort"];
        /** @description All filters hold. */
        FilterAnd: {
            and: components["schemas"]["Filter"][];
        };
        /** @description What is asked of a payload column: all operators have to hold. */
        FilterCondition: {
            /** @description The value is a list with an element equal to it. */
            contains?: components["schemas"]["FilterValue"];
            /** @description The value is equal to it. */
            eq?: components["schemas"]["FilterValue"];
            /** @description The value is there; for `false`, is null. */
            exists?: boolean;
            /** @description A payload column. */
            field: string;
            /** @description The value is above. */
            gt?: components["schemas"]["FilterValue"];
            /** @description The value is at least this. */
            gte?: components["schemas"]["FilterValue"];
            /** @description The value is equal to one of them; never for an empty list. */
            in?: components["schemas"]["FilterValue"][];
            /** @description The value is below. */
            lt?: components["schemas"]["FilterValue"];
            /** @description The value is at most this. */
            lte?: components["schemas"]["FilterValue"];
            /** @description The value is a different one. */
            ne?: components["schemas"]["FilterValue"];
            /** @description The value begins with it. */
            prefix?: string;
            /** @description The value ends with it. */
            suffix?: string;
        };
        /** @description The filter does not hold. */
        FilterNot: {
            not: components["schemas"]["Filter"];
        };
        /** @description At least one filter holds. */
        FilterOr: {
            or: components["schemas"]["Filter"][];
        };
        /** @description Payload columns and their values, or lists of values. Columns named like an operator, field, and, or or not need the full form. */
        FilterShort: {
            [key: string]: components["schemas"]["FilterValue"] | components["schemas"]["FilterValue"][];
        };
        /** @description As the column's type asks. */
        FilterValue: boolean | number | string;
        /** @description Which of the stored bank queries find a target among their first ten. */
        FindingsAnswer: {
            collection: string;
            corrected: components["schemas"]["QueryFinding"][];
            id: components["schemas"]["IdJson"];
            /** @description How many bank queries are stored. */
            queries: number;
            raw: components["schemas"]["QueryFinding"][];
            version: string;
        };
        /** @description A target that is found often. */
        FrequentTarget: {
            id: components["schemas"]["IdJson"];
            /** @description How often it was found. */
            occurrence: number;
            /** @description Of the places in the answers, how many it takes. */
            share: number;
        };
        /** @description Why a hit stands where it does. */
        HitExplanation: {
            /** @description N_10 at strength 1, as measured by the build; null if not stored. */
            occurrence: number | null;
            /** @description Its rank, from 1. */
            rank: number;
            /** @description The same without the correction. */
            raw_occurrence: number | null;
            /** @description Its rank by similarity alone; null if 1,000 or more come before it. */
            raw_rank: number | null;
            /** @description The strength that was applied. */
            strength: number;
        };
        /** @description k-occurrence (k=10) of the targets over the measuring queries. */
        Hubness: {
            /** @description Share of the targets that never occur. */
            antihubs: number;
            /** @description Occurrences of the worst hub. */
            most: number;
            /** @description Of the 10-occurrence; near 0 without hubs. */
            skewness: number;
        };
        /** @description Occurrence of targets in the answers to live queries; null for a ranking that has none. */
        HubnessAnswer: {
            collection: string;
            /** @description Those of them that were searched again, as served: to compare with raw. */
            corrected: components["schemas"]["RankingHubness"] | null;
            /** @description null where too few queries were asked, or it is off. */
            drift: components["schemas"]["DriftFigures"] | null;
            /** @description Places of each answer that count. */
            k: number;
            /** @description null where nothing was searched again. */
            live: components["schemas"]["LiveFigures"] | null;
            /** @description The same queries without the correction. */
            raw: components["schemas"]["RankingHubness"] | null;
            /** @description Queries of people that this worker has answered since it serves the version. */
            seen: number;
            /** @description The last answers of this worker. */
            served: components["schemas"]["RankingHubness"] | null;
            version: string;
            /** @description The last queries that count, at most. */
            window: number;
        };
        /** @description The values that chance alone would give. */
        HubnessByChance: {
            antihub_share: number;
            skewness: number;
        };
        /** @description A target that is found often. */
        HubOccurrence: {
            /** @description Its N_10 at strength 1. */
            corrected: number;
            id: components["schemas"]["IdJson"];
            /** @description Its hubness in units of similarity. */
            offset: number;
            /** @description Its N_10 without correction. */
            raw: number;
        };
        /** @description Targets that one version has and the other has not. */
        IdChanges: {
            count: number;
            /** @description Some of them. */
            ids: components["schemas"]["IdJson"][];
        };
        /** @description A number or a string, as the collection's ids are. */
        IdJson: number | string;
        /** @description The kind of index, the default search parameters of a query, and how they were found. */
        IndexRecord: {
            aims?: components["schemas"]["AimsRecord"] | null;
            /** @description With keep_full: so many targets that the index of fewer dimensions finds are ranked by the whole vectors, for 10 hits. null without. */
            candidates?: number | null;
            /** @description Bytes of the product codes of a target; null without. */
            code_bytes?: number | null;
            /** @default [] */
            curve: components["schemas"]["SettingRecord"][];
            /** @description Where the vectors are, if not in files; or null. */
            engine?: components["schemas"]["EngineRecord"] | null;
            /** @default [] */
            notes: string[];
            /** @description Search parameters of a query that brings none. */
            parameters: {
                [key: string]: unknown;
            };
            /**
             * @default float32
             * @enum {string}
             */
            precision: "float32" | "float16";
            /** @description The most targets in a segment, if that was asked for. */
            shard_targets?: number | null;
            /**
             * @description Kinds that were measured beside each other, if any were.
             * @default []
             */
            tried: components["schemas"]["TriedRecord"][];
            type: string;
        };
        /** @description A file or an array that a version was built from. */
        InputJson: {
            name: string;
            sha256: string;
            size: number;
        };
        /** @description A target on the list. */
        KeptFinding: {
            /** @description How many near-duplicates are counted with it. */
            copies: number;
            id: number | string;
            /** @description N_10 over the queries of the scan. */
            occurrence: number;
            /** @description On the list, from 1. */
            place: number;
            /** @description 0 is chance; 1 is first for every query, or for every query of a topic. */
            score: number;
            /** @description Share of the queries that keep it with noise on them. */
            stability: number | null;
            why: string;
        };
        /** @description A scan for planted hubs. */
        KeptScan: {
            /** @description How many targets reach the threshold. */
            alerts: number;
            findings: components["schemas"]["KeptFinding"][];
            /** @description When, ISO 8601. */
            made: string;
            notes: string[];
            /** @description How many queries it went by. */
            queries: number;
            /** @description The score from which a target is an alert. */
            threshold: number | null;
            /** @description The version whose targets were scanned. */
            version: string;
        };
        /** @description The verdict of labelled queries, none of them in the bank, on the correction. */
        LabelsRecord: {
            /** @description The same with it. */
            corrected: number;
            /** @description Ends of the 95 % interval of the change. */
            high: number;
            low: number;
            /** @description How many have a right target. */
            queries: number;
            /** @description Share of right first answers without correction. */
            raw: number;
            /** @enum {string} */
            said: "harm" | "no harm" | "too few";
            /** @description The strength that was compared with the raw ranking. */
            strength: number;
        };
        /** @description A list of any search, or a query to a collection, whose hits are corrected by the collection itself. */
        ListToRerank: {
            /** @description In place of ids and scores: a collection to search. */
            collection?: string | null;
            /** @description The name of a correction of scores; without it the scores stay as they are. */
            correction?: string | null;
            /** @description Of a list without correction: whether lower scores are better. */
            distance?: boolean | null;
            /** @description With collection: only targets that meet it are searched. */
            filter?: components["schemas"]["Filter"] | null;
            /** @description With collection: a stored target, to find more like it. */
            id?: components["schemas"]["StoredId"] | null;
            /** @description Of the hits, at most 1,000; ask the search for 50. */
            ids?: number[] | string[] | null;
            /** @description With collection: a picture, if its encoder takes pictures. */
            image?: string | null;
            /** @description With collection: how many of its hits are fused; 50 if not given. */
            limit?: number | null;
            /** @description With collection: search parameters of its index. */
            params?: {
                [key: string]: unknown;
            } | null;
            /** @description As many scores. */
            scores?: number[] | null;
            /** @description How much of the offsets is applied; 1 if not given. */
            strength?: number | null;
            /** @description With collection: a text, if it has an encoder. */
            text?: string | null;
            /** @description With collection: a vector, as long as its dim. */
            vector?: components["schemas"]["QueryVector"] | null;
            /** @description Of the list in the sum; 1 if not given. */
            weight?: number | null;
            /** @description With collection: payload, or payload.<column> for some columns, which its hits are sent with. */
            with?: string[] | null;
        };
        /** @description The strength for even answers. Where popular targets are right, evenness harms: clicks or labels tell. */
        LiveFigures: {
            /** @description How many different ones say so. */
            queries: number;
            /** @description The strength that spreads their answers most evenly. */
            recommended_strength: number;
            /**
             * @description Whether there were enough of them to go by.
             * @enum {string}
             */
            state: "too_few" | "few" | "enough";
        };
        /**
         * @description Measurements with bank queries.
         *
         *     Hubness is measured with fits of its own that have not seen the query, unless the bank is too small. Offsets of the
         *     version are fitted on all of the bank; recall is that of its index.
         */
        Measured: {
            /** @description How many bank queries that fit saw. The version's own offsets are fitted on all of the bank. null in changed versions. */
            fitted_queries?: number | null;
            /** @description Whether the fit that hubness is measured with was without these queries. */
            held_out: boolean;
            /** @description If each query found its targets at random. */
            hubness_chance: components["schemas"]["Hubness"];
            hubness_corrected: components["schemas"]["Hubness"];
            hubness_raw: components["schemas"]["Hubness"];
            queries: number;
            /** @description Of the index with the version's offsets, against exact search. */
            recall_at_10: number;
            /**
             * @description Strength of the corrected answers that were measured.
             * @default 1
             */
            strength: number;
        };
        /** @description The targets that no query finds. */
        NeverFound: {
            /** @description How many are found in neither ranking. */
            both: number;
            /** @description How many are not found at strength 1. */
            corrected: number;
            /** @description Some that are found in neither. */
            ids: components["schemas"]["IdJson"][];
            /** @description How many are not found without correction. */
            raw: number;
        };
        /** @description Occurrence of each target over bank queries, for a version as it was built; null where nobody counted. */
        OccurrenceAnswer: {
            /** @description Few queries leave many targets unfound: compare with this. */
            chance: components["schemas"]["OccurrenceByChance"] | null;
            collection: string;
            corrected: components["schemas"]["RankingOccurrence"] | null;
            /** @description Whether the offsets that were measured have not seen these queries. */
            held_out: boolean;
            /** @description Places of each answer that count. */
            k: number;
            never: components["schemas"]["NeverFound"] | null;
            /** @description How many queries were counted. */
            queries: number;
            raw: components["schemas"]["RankingOccurrence"] | null;
            /** @description build: measured when it was built. sample: counted now, over the stored bank queries. */
            source: ("build" | "sample") | null;
            version: string;
        };
        /** @description The same figures if as many queries found random targets. */
        OccurrenceByChance: {
            /** @description Share of the targets that chance alone leaves unfound. */
            antihub_share: number;
            most: number;
            skewness: number;
        };
        /**
         * @description Changes of payload, all or none.
         * @example {
         *       "points": [
         *         {
         *           "id": "new",
         *           "payload": {
         *             "line": 1
         *           }
         *         }
         *       ]
         *     }
         */
        PatchPointsRequest: {
            /** @description memory answers before the disk has it: a crash of the machine may lose it. For loads that you can repeat. */
            durability?: ("disk" | "memory") | null;
            /** @description At most 1,000. */
            points: components["schemas"]["PointToPatch"][];
        };
        /** @description One target. */
        PointAnswer: {
            collection: string;
            id: components["schemas"]["IdJson"];
            /** @description Its hubness in units of similarity: positive is a hub. */
            offset: number;
            /** @description null where the collection has no payload. */
            payload?: {
                [key: string]: unknown;
            } | null;
            /** @description For If-Match: the last write that changed it, or the last in its version. */
            seq: number;
            /** @description One number a dimension; null for a stored target that has none. */
            vector?: number[] | null;
            version: string;
        };
        /** @description Several targets, in the order of their ids. */
        PointsAnswer: {
            collection: string;
            /** @description Those ids that no target bears. */
            missing: components["schemas"]["IdJson"][];
            points: components["schemas"]["StoredTarget"][];
            version: string;
        };
        /**
         * @description Which targets to send, and with what.
         * @example {
         *       "ids": [
         *         "subprocess.run"
         *       ]
         *     }
         */
        PointsRequest: {
            /** @description At most 1,000, of the type of the collection's ids. */
            ids: components["schemas"]["StoredId"][];
            /** @description What answers has this write, whichever worker it is: the seq that the answer to a write gave. */
            min_seq?: number | null;
            /** @description What each target is sent with; its payload if not given. */
            with?: string[] | null;
        };
        /** @description A change of the payload of a target. */
        PointToPatch: {
            id: components["schemas"]["StoredId"];
            /** @description The columns to change. Columns that are not given stay. */
            payload: {
                [key: string]: unknown;
            };
        };
        /** @description A target that comes, or replaces the one of the same id. Without vector, text and image no search finds it. */
        PointToPut: {
            id: components["schemas"]["StoredId"];
            /** @description A picture, for collections whose encoder takes pictures. */
            image?: string | null;
            /** @description Values of the collection's payload columns; what is not given is null. */
            payload?: {
                [key: string]: unknown;
            } | null;
            /** @description A text, for collections that have an encoder. */
            text?: string | null;
            /** @description A vector, as long as the collection's dim. */
            vector?: components["schemas"]["QueryVector"] | null;
        };
        /** @description An error, RFC 9457. */
        ProblemAnswer: {
            /** @description What was wrong, for programs: stable. */
            code: string;
            /** @description What was wrong, for people. */
            detail: string;
            expected?: string;
            /** @description The field that was wrong. */
            parameter?: string;
            received?: string;
            /** @description As in the header X-Request-ID and in the server's log. */
            request_id: string;
            status: number;
            title: string;
            type: string;
        };
        /** @description The stored bank queries, in the order of their numbers. */
        ProjectedQueries: {
            x: number[];
            y: number[];
        };
        /** @description Targets by column: the first of each list is the first target. */
        ProjectedTargets: {
            /** @description N_10 at strength 1; null likewise. */
            corrected: number[] | null;
            id: components["schemas"]["IdJson"][];
            offset: number[];
            /** @description N_10 without correction; null if nobody counted. */
            raw: number[] | null;
            /** @description Of the payload column that was asked for. */
            value: unknown[] | null;
            x: number[];
            y: number[];
        };
        /** @description A flat picture of a version as it was built: at most 5,000 targets, always with the largest hubs. */
        ProjectionAnswer: {
            collection: string;
            /** @description How many targets the version has. */
            count: number;
            /** @description Share of the variance along x and along y; null for UMAP. */
            explained: number[] | null;
            /**
             * @description Principal components, or UMAP.
             * @enum {string}
             */
            method: "pca" | "umap";
            queries: components["schemas"]["ProjectedQueries"];
            targets: components["schemas"]["ProjectedTargets"];
            version: string;
        };
        /** @description Result of storing points. It is on the disk, and this worker's next query finds it. */
        PutAnswer: {
            collection: string;
            /** @description How many ids are new. */
            inserted: number;
            /** @description The number of the write, one more than that of the write before it. */
            seq: number;
            /** @description How many targets were replaced. */
            updated: number;
            version: string;
        };
        /**
         * @description Example queries that the correction is to be fitted on: vectors, texts, payload or sampled.
         * @example {
         *       "fit": false,
         *       "vectors": [
         *         [
         *           0.6,
         *           0.8
         *         ],
         *         [
         *           0.8,
         *           0.6
         *         ]
         *       ]
         *     }
         */
        PutBankRequest: {
            /** @description What to fit; that of the collection if not given, auto if that is none. */
            correction?: string | null;
            /** @description false keeps the queries on the disk until more come, for a bank in several bodies. */
            fit?: boolean | null;
            /** @description The payload column that names the group of each target, such as tenant: each group is corrected by its own queries, so `groups` is needed beside it. That of the collection if not given; empty for one fit for all. */
            fit_by?: string | null;
            /** @description With fit_by: for each query the group that it is of, as the payload column has it. */
            groups?: (boolean | number | string | null)[] | null;
            /** @description append adds to the bank that is there, and to what waits; replace, the default, takes the place of both. */
            mode?: ("replace" | "append") | null;
            /** @description Of the correction. */
            parameters?: {
                [key: string]: unknown;
            } | null;
            /** @description Payload columns, such as title and caption: each text is encoded and is a query, at most 10,000 at random. */
            payload?: string[] | null;
            /** @description For each query the id of its right target, a list of them, or null where nobody knows. They make confidence a probability; 20 at least, better 100 and more. */
            relevant?: (number | string | (number | string)[] | null)[] | null;
            /** @description Take live queries, once HUBLESS_QUERY_SAMPLE has so many, if they are a good bank. At most 4,000. One client counts for a tenth at most, so ten clients or more must ask. */
            sampled?: number | null;
            /** @description For collections that have an encoder. At most 1,000. */
            texts?: string[] | null;
            /** @description Milliseconds to wait for the fit; HUBLESS_DEFAULT_TIMEOUT_MS if not given. It goes on after that. */
            timeout_ms?: number | null;
            /** @description With sampled: clients that ask for many people, such as the key of an app, and count without limit. Names of keys, or labels that `hubless bank show` lists. */
            trusted?: string[] | null;
            /** @description Lists of numbers, or base64 of little-endian float32. At most 50,000. */
            vectors?: components["schemas"]["QueryVector"][] | null;
        };
        /**
         * @description Targets to store, all or none.
         * @example {
         *       "points": [
         *         {
         *           "id": "new",
         *           "vector": [
         *             0.6,
         *             0.8
         *           ]
         *         }
         *       ]
         *     }
         */
        PutPointsRequest: {
            /** @description memory answers before the disk has it: a crash of the machine may lose it. For loads that you can repeat. */
            durability?: ("disk" | "memory") | null;
            /** @description insert refuses ids that are there, ignore passes them over, update refuses ids that are not; upsert takes all. */
            mode?: ("upsert" | "insert" | "update" | "ignore") | null;
            /** @description At most 1,000. */
            points: components["schemas"]["PointToPut"][];
        };
        /**
         * @description Past answers of any search, to learn offsets from: ids and scores of the first hits of each query.
         * @example {
         *       "lists": [
         *         {
         *           "ids": [
         *             "a",
         *             "b"
         *           ],
         *           "scores": [
         *             0.9,
         *             0.5
         *           ]
         *         },
         *         {
         *           "ids": [
         *             "c"
         *           ],
         *           "scores": [
         *             0.7
         *           ]
         *         }
         *       ]
         *     }
         */
        PutScoresRequest: {
            /** @description Whether lower scores are better. */
            distance?: boolean | null;
            /** @description Other lists with the ids of the right items, 20 at least, better 200: they make confidence a probability. */
            labelled?: {
                ids: number[] | string[];
                relevant: number | string | (number[] | string[]);
                scores: number[];
            }[] | null;
            /** @description Whether it also learns from the lists that /v1/rerank corrects by it: a client counts for a tenth at most. */
            learn?: boolean | null;
            /** @description One of each query; 1,000 with 50 hits each are enough. At most 2,000,000 hits. */
            lists: {
                ids: number[] | string[];
                scores: number[];
            }[];
            /** @description With learn: clients that ask for many people, and count without limit. Names of keys. */
            trusted?: string[] | null;
        };
        /** @description The hits, and what was searched. */
        QueryAnswer: {
            /** @description false if min_confidence, min_presence or min_accuracy left out all hits. Likewise. */
            answered?: boolean;
            /** @description Whether these are probabilities, and not only an order. Likewise. */
            calibrated?: boolean;
            collection: string;
            /** @description How likely the best hit is right, 0 to 1. Only with a model. */
            confidence?: number;
            /** @description Of a gated correction: whether it was switched on for the query. */
            corrected?: boolean;
            hits: components["schemas"]["QueryHit"][];
            /** @description How likely a right target was among those searched. Likewise. */
            presence?: number;
            version: string;
        };
        /** @description A bank query that finds a target. */
        QueryFinding: {
            /** @description What it finds first with the correction, which tells what it is about. */
            first: components["schemas"]["IdJson"];
            /** @description Its number, for `GET .../bank/{number}`. */
            query: number;
            /** @description Where the target stands, from 1. */
            rank: number;
        };
        /** @description A query in one of its forms. */
        QueryForms: {
            /** @description A picture, for collections whose encoder takes pictures. */
            image?: string | null;
            /** @description A text, for collections that have an encoder. */
            text?: string | null;
            /** @description A vector, as long as the collection's dim. */
            vector?: components["schemas"]["QueryVector"] | null;
        };
        /** @description A target that was found. */
        QueryHit: {
            /** @description Only if asked for. */
            explanation?: components["schemas"]["HitExplanation"];
            id: components["schemas"]["IdJson"];
            /** @description Hubness of the target in units of similarity: positive is a hub. */
            offset: number;
            /** @description null where the collection has no payload. */
            payload?: {
                [key: string]: unknown;
            } | null;
            /** @description similarity − strength · offset */
            score: number;
            /** @description Its part of the confidence, all for the best hit. Only with a model. */
            share?: number;
            /** @description Inner product with the query, the cosine under metric cosine, −½|q − t|² under metric euclidean. */
            similarity: number;
            /** @description One number a dimension; null for a stored target that has none. */
            vector?: number[] | null;
        };
        /** @description The hits of one query, best first. */
        QueryHits: {
            /** @description false if min_confidence, min_presence or min_accuracy left out all hits. Likewise. */
            answered?: boolean;
            /** @description Whether these are probabilities, and not only an order. Likewise. */
            calibrated?: boolean;
            /** @description How likely the best hit is right, 0 to 1. Only with a model. */
            confidence?: number;
            /** @description Of a gated correction: whether it was switched on for the query. */
            corrected?: boolean;
            hits: components["schemas"]["QueryHit"][];
            /** @description How likely a right target was among those searched. Likewise. */
            presence?: number;
        };
        /**
         * @description A query: either a vector, a text, a picture or the id of a stored target, and options.
         * @example {
         *       "explain": true,
         *       "id": "subprocess.run",
         *       "limit": 3
         *     }
         * @example {
         *       "text": "parse a date"
         *     }
         */
        QueryRequest: {
            /** @description As many hits as it takes to hold a right one in this share of queries, limit at most, by the same labels. */
            coverage?: number | null;
            /** @description How much hits are to differ from those before them; 0, the default, keeps the ranking. */
            diversity?: number | null;
            /** @description Whether each hit is sent with its rank without the correction, and why it has it. */
            explain?: boolean | null;
            /** @description Only targets that meet it are searched. */
            filter?: components["schemas"]["Filter"] | null;
            /** @description A payload column: only the best hit of each of its values is sent. */
            group_by?: string | null;
            /** @description A stored target, to find more like it: asked with its vector, and itself left out. */
            id?: components["schemas"]["StoredId"] | null;
            /** @description A picture, for collections whose encoder takes pictures. */
            image?: string | null;
            /** @description How many hits at most; 10 if not given. */
            limit?: number | null;
            /** @description Queries get hits only where this share, at least, is right at first, by the labels that calibrated confidence. */
            min_accuracy?: number | null;
            /** @description A query gets no hits if its best hit is less likely right. */
            min_confidence?: number | null;
            /** @description A query gets no hits if a right target is less likely there. */
            min_presence?: number | null;
            /** @description What answers has this write, whichever worker it is: the seq that the answer to a write gave. */
            min_seq?: number | null;
            /** @description Search parameters of the collection's index, such as {"ef": 128}. */
            params?: {
                [key: string]: unknown;
            } | null;
            /** @description Hits with a lower score are left out. */
            score_threshold?: number | null;
            /** @description How many of the best are left out; with limit at most 5,000. */
            skip?: number | null;
            /** @description How much of the offsets is applied: 0 is raw, 1 is full. If not given that of the collection, 0 with id. */
            strength?: number | null;
            /** @description A text, for collections that have an encoder. */
            text?: string | null;
            /** @description Milliseconds to answer or refuse; HUBLESS_DEFAULT_TIMEOUT_MS if not given. Of a batch, the shortest. */
            timeout_ms?: number | null;
            /** @description A vector, as long as the collection's dim. */
            vector?: components["schemas"]["QueryVector"] | null;
            /** @description What each hit is sent with beside id and scores. */
            with?: string[] | null;
        };
        /** @description Numbers, or base64 of little-endian float32; as long as the collection's dim. */
        QueryVector: number[] | string;
        /** @description Occurrence of targets in one ranking of the queries. */
        RankingHubness: {
            /** @description Share of the targets that are never found. */
            antihub_share: number;
            /** @description The same if as many queries found random targets. */
            chance: components["schemas"]["HubnessByChance"];
            /** @description The ten that are found most often. */
            hubs: components["schemas"]["FrequentTarget"][];
            /** @description How many queries it is made of. */
            queries: number;
            /** @description Of the occurrence of all targets; near 0 without hubs. */
            skewness: number;
            /** @description Share of the places that the worst hub takes. */
            top_hub_share: number;
        };
        /** @description Occurrence of targets in one ranking. */
        RankingOccurrence: {
            /** @description Share of the targets that no query finds. */
            antihub_share: number;
            histogram: components["schemas"]["TargetsWithCount"][];
            /** @description Those found most often, in this ranking. */
            hubs: components["schemas"]["HubOccurrence"][];
            /** @description N_10 of the target that is found most often. */
            most: number;
            /** @description Of N_10 over all targets; near 0 without hubs. */
            skewness: number;
        };
        /** @description The server answers queries. */
        ReadyAnswer: {
            /** @description Each collection's state; of one that failed, why. Left out where a key is needed to see them. */
            collections?: {
                [key: string]: {
                    [key: string]: unknown;
                };
            };
            /** @description Says that the catalog is empty, and what to do. */
            note?: string;
            /** @constant */
            status: "ready";
            /** @description Of a catalog in object storage; left out as `collections` are. */
            store?: components["schemas"]["StoreAnswer"];
        };
        /** @description The hits of all lists, best first. */
        RerankAnswer: {
            /** @description false if min_accuracy left out all hits. */
            answered: boolean;
            /** @description Whether this is a probability, and not only an order. Likewise. */
            calibrated?: boolean;
            /** @description How likely the best hit is right, 0 to 1. Only with a cut. */
            confidence?: number;
            hits: components["schemas"]["RerankedHit"][];
            /** @description Of each list, how many ids its correction does not know; if it knows none, nothing was corrected. */
            unknown: number[];
        };
        /** @description An item of the lists. */
        RerankedHit: {
            id: components["schemas"]["IdJson"];
            /** @description What each list adds to the score; 0 where it does not have the item. */
            parts: number[];
            /** @description Of the first list that has the item and was asked for it. */
            payload?: {
                [key: string]: unknown;
            } | null;
            /** @description The sum of its parts. */
            score: number;
        };
        /**
         * @description Lists of one query, each to be corrected by its own correction, and then to be fused.
         * @example {
         *       "limit": 10,
         *       "lists": [
         *         {
         *           "ids": [
         *             "a",
         *             "b"
         *           ],
         *           "scores": [
         *             9.5,
         *             7.25
         *           ]
         *         }
         *       ]
         *     }
         */
        RerankRequest: {
            /** @description Tells confidence from the scores of the answer: the JSON of a hubless.Cut, fitted on past answers. One list has that of its correction. */
            cut?: {
                [key: string]: unknown;
            } | null;
            /** @description How corrected scores become parts of a sum: min_max, the default, from 0 to 1 in each list; z in standard deviations above its last; rrf 1/(60 + rank). Equal scores of a list count 1 each. Of one list: its corrected scores if not given. */
            fusion?: ("min_max" | "z" | "rrf") | null;
            /** @description How many hits at most; 10 if not given. */
            limit?: number | null;
            /** @description At most 10. */
            lists: components["schemas"]["ListToRerank"][];
            /** @description There are hits only where this share, at least, is right at first, by the labels that calibrated the cut. */
            min_accuracy?: number | null;
            /** @description Milliseconds to answer or refuse; HUBLESS_DEFAULT_TIMEOUT_MS if not given. */
            timeout_ms?: number | null;
        };
        /** @description Live queries that are kept in files. */
        SampleFigures: {
            /** @description How often queries were asked since, repeated ones too. */
            asked: number;
            /** @description How many; one that was asked in two periods counts twice. */
            queries: number;
            /** @description When the oldest period began, ISO 8601. */
            since: string;
        };
        /** @description The last scan for planted hubs that was kept. */
        ScanAnswer: {
            collection: string;
            /** @description null if none was kept. */
            scan: components["schemas"]["KeptScan"] | null;
        };
        /** @description A correction of scores. */
        ScoresAnswer: {
            /** @description Values of min_accuracy that some answers reach. */
            accuracies: number[];
            /** @description How many of these count; null likewise. */
            counted: components["schemas"]["CountedAnswer"] | null;
            /** @description How it came about: lists, distinct, temperature, shrinkage and more. */
            details: {
                [key: string]: number;
            };
            /** @description Whether lower scores are better. */
            distance: boolean;
            /** @description Items that few clients lift alone, or whose offset stands alone. */
            held_back: components["schemas"]["IdJson"][];
            /** @description How many items have an offset; all others have the smallest. */
            items: number;
            /** @description Lists that it keeps of those it was asked; null if it does not learn. */
            learning: number | null;
            name: string;
            /** @description Labels that calibrated confidence; 0: it only orders answers; null: none. */
            pairs: number | null;
            /** @description The last fit by the service on such lists. */
            work: components["schemas"]["WorkAnswer"] | null;
        };
        /** @description Some targets, in an order that stays the same as long as the version does. */
        ScrollAnswer: {
            collection: string;
            /** @description Of the next page; null where this is the last. */
            cursor: string | null;
            points: components["schemas"]["StoredTarget"][];
            version: string;
        };
        /** @description Which targets to send, and from where on. */
        ScrollRequest: {
            /** @description Of the page before; null for the first. */
            cursor?: string | null;
            /** @description Only targets that meet it; the same for all pages. */
            filter?: components["schemas"]["Filter"] | null;
            /** @description How many targets at most; 10 if not given. */
            limit?: number | null;
            /** @description What answers has this write, whichever worker it is: the seq that the answer to a write gave. */
            min_seq?: number | null;
            /** @description What each target is sent with; its payload if not given. */
            with?: string[] | null;
        };
        /** @description Search parameters with their measured recall, and the time of a single query on one thread. */
        SettingRecord: {
            latency_ms: number;
            parameters: {
                [key: string]: unknown;
            };
            recall_at_10: number;
        };
        /** @description The state of the object storage with the catalog. Local copies are served in any case. */
        StoreAnswer: {
            address: string;
            /** @description When all that is there was brought here, in ISO 8601. */
            synced: string | null;
            /** @description Why something could not be; null if all was. */
            trouble: string | null;
        };
        /** @description A number or a string, as the collection's ids are. */
        StoredId: number | string;
        /** @description A stored target. */
        StoredTarget: {
            id: components["schemas"]["IdJson"];
            /** @description Its hubness in units of similarity: positive is a hub. */
            offset: number;
            /** @description null where the collection has no payload. */
            payload?: {
                [key: string]: unknown;
            } | null;
            /** @description For If-Match: the last write that changed it, or the last in its version. */
            seq: number;
            /** @description One number a dimension; null for a stored target that has none. */
            vector?: number[] | null;
        };
        /** @description So many targets are found so often. */
        TargetsWithCount: {
            /** @description N_10: by so many queries. */
            occurrence: number;
            /** @description How many targets are. */
            targets: number;
        };
        /** @description A target that somebody chose among the hits of a query. */
        ToldClick: {
            /** @description Who chose it: one client counts once for a query and a target. Without it the key is believed: each counts. */
            client?: string | null;
            /** @description Its rank in the answer, from 1. */
            position?: number | null;
            query: components["schemas"]["QueryForms"];
            target: components["schemas"]["StoredId"];
        };
        /** @description A kind of index that was built to see how fast it is, of a sample of the targets or of all. */
        TriedRecord: {
            /** @description Bytes of the product codes of a target; null without. */
            code_bytes: number | null;
            /** @description The same as expected with all targets; null where all are there. */
            expected_ms: number | null;
            /** @description Processor time of a single query on one thread. */
            latency_ms: number;
            /** @description The fastest search parameters that reach the recall. */
            parameters: {
                [key: string]: unknown;
            };
            recall_at_10: number;
            /** @description It took so long to build and to tune. */
            seconds: number;
            /** @description So many targets it was built of. */
            targets: number;
            type: string;
        };
        /** @description A stored version: its inputs, parameters and measurements. */
        VersionAnswer: {
            bank: components["schemas"]["BankRecord"] | null;
            /** @description The size of its files. */
            bytes: number;
            collection: string;
            confidence: components["schemas"]["ConfidenceRecord"] | null;
            correction: components["schemas"]["CorrectionRecord"];
            count: number;
            created: string;
            dim: number;
            index: components["schemas"]["IndexRecord"];
            inputs: {
                [key: string]: components["schemas"]["InputJson"];
            };
            /** @description The last write that it has. */
            log_seq: number;
            measured: components["schemas"]["Measured"] | null;
            /** @enum {string} */
            metric: "cosine" | "dot" | "euclidean";
            notes: string[];
            payload_columns: string[];
            seed: number;
            strength: number;
            version: string;
            /** @description Of hubless and its libraries. */
            versions: {
                [key: string]: string;
            };
        };
        /** @description All versions of a collection, oldest first. */
        VersionsAnswer: {
            collection: string;
            versions: components["schemas"]["VersionState"][];
        };
        /** @description A version of a collection, and what became of it. */
        VersionState: {
            /** @description How many targets it has; null likewise. */
            count: number | null;
            /** @description When it was built, ISO 8601; null if its manifest cannot be read. */
            created: string | null;
            /** @description Whether it is the one to be served. */
            current: boolean;
            /** @description Why it is refused or damaged. */
            detail: string | null;
            /**
             * @description refused: it cannot be served. damaged: its manifest cannot be read. stored: none of these.
             * @enum {string}
             */
            state: "served" | "refused" | "damaged" | "stored";
            version: string;
        };
        /** @description A query bank that was put, and that no version has yet. */
        WaitingBank: {
            /** @description How many of these there are; null without `sampled`. */
            counted: components["schemas"]["CountedAnswer"] | null;
            /** @description Whether it is fitted next; false while more is to come. */
            fit: boolean;
            /** @description The payload column of the groups of its queries; null for one fit for all. */
            fit_by: string | null;
            /** @enum {string} */
            mode: "replace" | "append";
            /** @description How many were put. */
            queries: number;
            /** @description Live queries that must count first; null for none. */
            sampled: number | null;
        };
        /** @description The last work of the service that made a version or a fit, or is to. */
        WorkAnswer: {
            began: string;
            /** @description How many rows of the step are done. */
            done: number;
            ended: string | null;
            /** @description Why it failed: code and detail of a problem. */
            problem: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            state: "running" | "done" | "failed";
            /** @description What it does. */
            step: string | null;
            /** @description Of how many; null if nobody knows. */
            total: number | null;
            /** @description That it made; null for none. */
            version: string | null;
            /**
             * @description bank is a fit on a query bank, scores one of scores.
             * @enum {string}
             */
            work: "merge" | "bank" | "scores";
        };
        /** @description The writes since the version was built. */
        Writes: {
            /** @description How many targets stand beside the index, with frozen offsets. */
            added: number;
            /** @description Share of the targets that came after the fit of the correction. */
            frozen_share: number;
            /** @description The size of the log's files. */
            log_bytes: number;
            /** @description How many targets of the version are gone or were replaced. */
            removed: number;
            /** @description The number of the last write that is served; 0 if there was none. */
            seq: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;

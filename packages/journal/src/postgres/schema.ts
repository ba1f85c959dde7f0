/** Version of the tables below. A scheduler needs exactly this version. */
export const SCHEMA_VERSION = 1;

/** SQLSTATE of a write with a stale epoch. */
export const FENCED = 'GH001';

/**
 * Records are bytes as in other journals; the unique index makes keys cluster-wide. `journals.epoch` is the fence: a
 * takeover raises it, and `goshawk.write` rejects writes with another one. `journals.written` counts groups, so that a
 * group that is sent again after a lost reply is written once.
 */
export const TABLES = `
create table goshawk.journals (
  tag text primary key,
  home text not null,
  holder text not null,
  adopted boolean not null default false,
  claim text not null,
  epoch bigint not null default 1,
  written bigint not null default 0,
  format integer not null,
  version text not null,
  formers text[] not null default '{}',
  last_job bigint not null default 0,
  claimed_at timestamptz not null default now()
) with (fillfactor = 50);
create index journals_by_holder on goshawk.journals (holder);
-- Only one of several processes with the same name creates its journal.
create unique index journals_own on goshawk.journals (holder) where not adopted;

create table goshawk.records (
  tag text not null,
  job bigint not null,
  place bigint not null,
  key bytea,
  body bytea not null,
  primary key (tag, job, place)
);
create unique index records_by_key on goshawk.records (key) where key is not null;

-- Task output: blocks of chunks, each with the number of its first one. An empty block with a reason: older ones are gone.
create table goshawk.output (
  tag text not null,
  job bigint not null,
  number bigint not null,
  body bytea not null,
  reason text,
  bytes integer not null,
  at timestamptz not null default now(),
  primary key (tag, job, number)
);
create index output_by_age on goshawk.output (tag, at);

create table goshawk.learnt (
  scheduler text primary key,
  at timestamptz not null default now(),
  body text not null
);

-- Writes one group completely, or nothing if the epoch differs. Omits jobs whose key belongs to another job.
create function goshawk.write(
  p_tag text, p_epoch bigint, p_group bigint, p_jobs bigint[], p_places bigint[], p_keys bytea[], p_bodies bytea[],
  p_forgotten bigint[], out taken bigint[]
) language plpgsql as $$
declare
  held record;
  inserted bigint;
  missing bigint[];
begin
  update goshawk.journals set written = p_group where tag = p_tag and epoch = p_epoch and written = p_group - 1;
  if not found then
    select epoch, written into held from goshawk.journals where tag = p_tag;
    if held.epoch is distinct from p_epoch or held.written < p_group then
      raise exception 'another scheduler has taken the jobs %-* over', p_tag using errcode = '${FENCED}';
    end if;
    -- The group has been written, but the reply was lost.
    select array_agg(t.job) into taken
      from unnest(p_jobs, p_keys) t(job, key)
      where t.key is not null and t.job <> all(coalesce(p_forgotten, '{}')) and not exists (
        select from goshawk.records r where r.tag = p_tag and r.job = t.job and r.key = t.key);
    return;
  end if;
  if p_forgotten is not null then
    update goshawk.journals set last_job = greatest(last_job, (select max(job) from unnest(p_forgotten) job))
      where tag = p_tag;
    delete from goshawk.records where tag = p_tag and job = any(p_forgotten);
  end if;
  -- One statement for the usual case in which no key belongs to another job.
  if cardinality(p_jobs) = 1 then
    insert into goshawk.records (tag, job, place, key, body)
      values (p_tag, p_jobs[1], p_places[1], p_keys[1], p_bodies[1])
      on conflict (key) where key is not null do nothing;
  else
    insert into goshawk.records (tag, job, place, key, body)
      select p_tag, t.job, t.place, t.key, t.body from unnest(p_jobs, p_places, p_keys, p_bodies) t(job, place, key, body)
      on conflict (key) where key is not null do nothing;
  end if;
  get diagnostics inserted = row_count;
  if inserted = cardinality(p_jobs) then
    return;
  end if;
  loop
    -- A key that was not inserted belongs to another job, or that job was deleted just now and the insert is retried.
    select array_agg(t.job) filter (where r.tag is not null), array_agg(t.job) filter (where r.tag is null)
      into taken, missing
      from unnest(p_jobs, p_keys) t(job, key)
      left join goshawk.records r on r.key = t.key
      where t.key is not null and (r.tag is null or r.tag <> p_tag or r.job <> t.job);
    exit when missing is null;
    insert into goshawk.records (tag, job, place, key, body)
      select p_tag, t.job, t.place, t.key, t.body from unnest(p_jobs, p_places, p_keys, p_bodies) t(job, place, key, body)
      where t.key is not null and t.job = any(missing)
      on conflict (key) where key is not null do nothing;
  end loop;
  delete from goshawk.records where tag = p_tag and job = any(taken);
end $$;
`;
